import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { HeddleError, notConfigured } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import { parseStrictJson } from '../core/json/strict-json.ts';
import type { Log } from '../core/log.ts';
import type { Observer } from '../core/observer.ts';
import type { Redactor } from '../core/secrets/redaction.ts';
import { type ServerFactory, serverFactory } from '../mcp/server.ts';
import { type Inputs, profileSettings, type ResolvedSettings, resolveProfile } from '../settings/resolve-settings.ts';
import type { Credentials } from '../settings/secrets/credentials.ts';
import { settingDefinitions } from '../settings/settings.ts';
import { openRuntime, type Runtime } from './runtime.ts';
import { cacheCredentials, fileStamp, type ReadCredentials } from './stored-credentials.ts';

const subjectsFile = z.strictObject({
  subjects: z.record(z.string().min(1), z.string()),
  default: z.string().optional(),
});
type SubjectsFile = z.output<typeof subjectsFile>;

export interface SubjectsOptions {
  /** Path of the JSON file that assigns profiles to subjects; see docs/authorization.md. */
  file: string;
  /** Sources of the settings of the server. */
  inputs: Pick<Inputs, 'flags' | 'environment' | 'folders'>;
  readCredentials: ReadCredentials;
  log: Log;
  /** The redactor of `log`, which has to know the secrets of every subject. */
  redactor: Redactor;
  observer: Observer | undefined;
}

/**
 * Serves each subject with a runtime of its profile. The environment and the flags belong to the operator of the server, so
 * they select neither the service nor the account of a subject.
 */
export class Subjects {
  readonly #options: SubjectsOptions;
  readonly #servers = new Map<string, { runtime: Runtime; createMcpServer: ServerFactory }>();
  #fileStamp = '';
  #assigned: SubjectsFile;

  /** @throws HeddleError `not_configured` when the file or a profile is unusable, or the server sets a profile setting. */
  constructor({ sources }: ResolvedSettings, options: SubjectsOptions) {
    checkProfileSettingsUnset(sources);
    this.#options = options;
    this.#assigned = this.#readFile();
  }

  /** Returns the server factory of a subject's profile, or undefined for a subject without a profile. */
  serverFor(subject: string): ServerFactory | undefined {
    this.#reloadIfChanged();
    const { subjects, default: defaultProfile } = this.#assigned;
    const profile = ownMember(subjects, subject) ?? defaultProfile;
    return profile === undefined ? undefined : this.#servers.get(profile)!.createMcpServer;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(({ runtime }) => runtime.close()));
  }

  #openServer(profile: string): void {
    if (this.#servers.has(profile)) return;
    const { log, redactor, observer, readCredentials } = this.#options;
    const resolved = this.#resolveProfile(profile);
    const read = cacheCredentials(resolved, readCredentials);
    const credentials = async (): Promise<Credentials> => withOperatorHint(await read(), resolved);
    const runtime = openRuntime(resolved, { log, redactor, credentials });
    const createMcpServer = serverFactory({ ...runtime.serverOptions, observer });
    this.#servers.set(profile, { runtime, createMcpServer });
  }

  /** Reads the file again after a change. An unusable file changes nothing. */
  #reloadIfChanged(): void {
    if (fileStamp(this.#options.file) === this.#fileStamp) return;
    try {
      this.#assigned = this.#readFile();
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      this.#options.log('error', 'the subjects stay as they were', { error: error.message });
    }
  }

  #readFile(): SubjectsFile {
    const { file } = this.#options;
    this.#fileStamp = fileStamp(file);
    try {
      const assigned = subjectsFile.parse(parseStrictJson(readFileSync(file)));
      const profiles = new Set(Object.values(assigned.subjects));
      if (assigned.default !== undefined) profiles.add(assigned.default);
      for (const profile of profiles) this.#openServer(profile);
      return assigned;
    } catch (error) {
      const form = 'Use the form {"subjects": {"SUBJECT": "PROFILE"}, "default": "PROFILE"}; "default" is optional.';
      const reason = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
      const hint = error instanceof HeddleError ? error.hint : form;
      throw notConfigured(`The subjects file ${file} cannot be used: ${reason}`, hint);
    }
  }

  #resolveProfile(profile: string): ResolvedSettings {
    const hint = `Run \`heddle login --profile ${profile}\` as the user who runs this server.`;
    // Without a service, all subjects would share the sample data.
    return resolveProfile(profile, this.#options.inputs, hint);
  }
}

function checkProfileSettingsUnset(sources: ResolvedSettings['sources']): void {
  const set = profileSettings
    .map((name) => ({ ...sources[name], environment: settingDefinitions[name].environment }))
    .find(({ from, name, environment }) => from === 'flag' || (from === 'environment' && name === environment));
  if (set === undefined) return;
  throw notConfigured(
    `${set.name} is set, but with --subjects each subject uses only the service and credentials of its profile.`,
    `Remove ${set.name}, and put it into the profiles: \`heddle login --profile NAME\`.`,
  );
}

/** Replaces the problem with missing credentials: only the operator of the server can log in. */
function withOperatorHint(credentials: Credentials, { values: { profile, baseUrl } }: ResolvedSettings): Credentials {
  const problem = new HeddleError({
    code: 'credentials_missing',
    message:
      credentials.problem?.message ??
      `Profile "${profile}" has no stored credentials of this kind for ${baseUrl}: nothing was sent.`,
    hint: `Ask the operator of this server to run \`heddle login --profile ${profile}\`, and then call again.`,
  });
  return { ...credentials, problem };
}
