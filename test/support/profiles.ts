import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyHome, temporaryFolder } from './heddle.ts';

/** What a profile and the store know of a service. */
export interface Account {
  baseUrl: string;
  project: string;
  username: string;
  password: string;
  token: string;
}

/** What `heddle serve --http` is started with so that subjects have profiles. */
export interface Setup {
  /** The home with the profiles and their secrets. */
  environment: Record<string, string>;
  /** For `--subjects`. */
  subjectsFile: string;
  /** Writes the subjects file anew. */
  assign: (subjects: Record<string, string>, rest?: string) => void;
}

/** Leaves behind what `heddle login --store file` does for each profile, and gives the subjects their profiles. */
export function setUpProfiles(
  accounts: Record<string, Account>,
  subjects: Record<string, string>,
  rest?: string,
): Setup {
  const home = temporaryFolder();
  const profiles: Record<string, object> = {};
  const secrets: Record<string, object> = {};
  for (const [name, { baseUrl, project, username, password, token }] of Object.entries(accounts)) {
    profiles[name] = { base_url: baseUrl, project, username, store: 'file' };
    secrets[name] = { [baseUrl]: { username, password, token } };
  }
  const folder = join(home, 'heddle');
  mkdirSync(folder);
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ profiles }));
  writeFileSync(join(folder, 'credentials.json'), JSON.stringify(secrets), { mode: 0o600 });
  const subjectsFile = join(home, 'subjects.json');
  const assign: Setup['assign'] = (given, otherwise) =>
    writeFileSync(subjectsFile, JSON.stringify({ subjects: given, default: otherwise }));
  assign(subjects, rest);
  return { environment: emptyHome(home), subjectsFile, assign };
}
