import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyHome, temporaryFolder } from './heddle.ts';

/** The service and the credentials of a profile. */
export interface Account {
  baseUrl: string;
  project: string;
  username: string;
  password: string;
  token: string;
}

/** Input for `heddle serve --http --subjects`. */
export interface Setup {
  /** Environment whose home has the profiles and their secrets. */
  environment: Record<string, string>;
  /** Path for `--subjects`. */
  subjectsFile: string;
  /** Rewrites the subjects file. */
  assign: (subjects: Record<string, string>, rest?: string) => void;
}

/** Writes the files that `heddle login --store file` writes for each profile, and a subjects file. */
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
