import { readFileSync } from 'node:fs';
import { findNodeAtLocation, parseTree } from 'jsonc-parser';
import * as z from 'zod';
import { HeddleError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Observer } from '../core/observer.ts';
import type { Redactor } from '../core/redaction.ts';
import { type ServerFactory, serverFactory } from '../mcp/server.ts';
import { readProfiles } from '../settings/profiles.ts';
import { environmentNames, type Inputs, type ResolvedSettings, resolveSettings } from '../settings/resolve-settings.ts';
import type { Credentials } from '../settings/secrets/credentials.ts';
import { type SettingName, settingDefinitions } from '../settings/settings.ts';
import { openRuntime, type Runtime } from './runtime.ts';
import { credentialsOf, stampOf } from './secrets.ts';

/** Settings that say which service is used, and as whom: of these a subject has its own, or none. */
const identity: readonly SettingName[] = ['profile', 'baseUrl', 'weave', 'project', 'username', 'password', 'token'];

const fileShape = z.strictObject({
  subjects: z.record(z.string().min(1), z.string()),
  default: z.string().optional(),
});

/**
 * Serves each subject that a file gives a profile to with a runtime of that profile. What a profile does not say about
 * the service and about who uses it is not taken from elsewhere: the environment and the flags belong to whoever runs
 * the server.
 */
export class Subjects {
  readonly #file: string;
  readonly #inputs: Pick<Inputs, 'flags' | 'environment'>;
  readonly #log: Log;
  /** Shared with the log, which must know the secrets of every subject. */
  readonly #redactor: Redactor;
  readonly #observer: Observer | undefined;
  #known: z.output<typeof fileShape>;
  #stamp: string;
  /** One for each profile that has been asked for, so never more than there are profiles. */
  readonly #runtimes = new Map<string, { runtime: Runtime; createServer: ServerFactory }>();

  /** @throws HeddleError `not_configured` when the file, a profile, or a setting beside them cannot be used. */
  constructor(
    file: string,
    inputs: Pick<Inputs, 'flags' | 'environment'>,
    { sources }: ResolvedSettings,
    { log, observer, redactor }: { log: Log; observer: Observer | undefined; redactor: Redactor },
  ) {
    const stray = identity.find(
      (name) =>
        sources[name].from === 'flag' ||
        (sources[name].from === 'environment' && sources[name].name === settingDefinitions[name].environment),
    );
    if (stray !== undefined) {
      throw new HeddleError({
        code: 'not_configured',
        message: `${sources[stray].name} is set, but with --subjects each subject has the service and the credentials of its profile, and no others.`,
        hint: `Leave ${sources[stray].name} away, and put it into the profiles: \`heddle login --profile NAME\`.`,
      });
    }
    const without = <T extends object>(from: T, names: readonly string[]): T =>
      Object.fromEntries(Object.entries(from).filter(([name]) => !names.includes(name))) as T;
    this.#inputs = {
      flags: without(inputs.flags, identity),
      environment: without(inputs.environment, identity.flatMap(environmentNames)),
    };
    this.#file = file;
    this.#log = log;
    this.#redactor = redactor;
    this.#observer = observer;
    this.#stamp = stampOf(file);
    this.#known = this.#read();
  }

  /** What makes the protocol servers of a subject: one runtime for all with its profile. Undefined without a profile. */
  serverFor(subject: string): ServerFactory | undefined {
    this.#refresh();
    const { subjects, default: rest } = this.#known;
    const profile = Object.hasOwn(subjects, subject) ? subjects[subject] : rest;
    if (profile === undefined) return undefined;
    const open = this.#runtimes.get(profile) ?? this.#open(profile);
    return open?.createServer;
  }

  #open(profile: string): { runtime: Runtime; createServer: ServerFactory } | undefined {
    try {
      const resolved = this.#resolve(profile);
      const runtime = openRuntime(resolved, {
        log: this.#log,
        redactor: this.#redactor,
        credentials: credentialsOfProfile(resolved, this.#redactor),
      });
      const createServer = serverFactory({ ...runtime.serverOptions, observer: this.#observer });
      const open = { runtime, createServer };
      this.#runtimes.set(profile, open);
      return open;
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      // It was there when the file was read.
      this.#log('error', 'a profile cannot be used any more', { profile, error: error.message, advice: error.hint });
      return undefined;
    }
  }

  /** Ends all runtimes. */
  async close(): Promise<void> {
    await Promise.all([...this.#runtimes.values()].map(({ runtime }) => runtime.close()));
  }

  /** Takes up a changed file; one that cannot be used changes nothing. */
  #refresh(): void {
    const stamp = stampOf(this.#file);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    try {
      this.#known = this.#read();
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      this.#log('error', 'the subjects stay as they were', { error: error.message });
    }
  }

  #read(): z.output<typeof fileShape> {
    try {
      const text = readFileSync(this.#file, 'utf8');
      const known = fileShape.parse(JSON.parse(text));
      const twice = repeatedSubject(text);
      if (twice !== undefined) throw new Error(`it has the subject ${JSON.stringify(twice)} twice`);
      const named = new Set([
        ...Object.values(known.subjects),
        ...(known.default === undefined ? [] : [known.default]),
      ]);
      for (const profile of named) this.#resolve(profile);
      return known;
    } catch (error) {
      const reason = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
      throw new HeddleError({
        code: 'not_configured',
        message: `The subjects file ${this.#file} cannot be used: ${reason}`,
        hint:
          error instanceof HeddleError
            ? error.hint
            : 'It has the form {"subjects": {"SUBJECT": "PROFILE"}, "default": "PROFILE"}; "default" may be left away.',
        cause: error,
      });
    }
  }

  #resolve(profile: string): ResolvedSettings {
    const profiles = readProfiles();
    const login = `Run \`heddle login --profile ${profile}\` as the user who runs this server.`;
    if (!Object.hasOwn(profiles, profile)) {
      throw new HeddleError({ code: 'not_configured', message: `There is no profile "${profile}".`, hint: login });
    }
    const { flags, environment } = this.#inputs;
    const resolved = resolveSettings({ flags: { ...flags, profile }, environment, profiles });
    if (resolved.values.baseUrl !== undefined) return resolved;
    // Sample data that all share is nobody's own.
    throw new HeddleError({ code: 'not_configured', message: `Profile "${profile}" names no service.`, hint: login });
  }
}

/** A subject that stands in the file more than once: JSON lets the last one win, and who it is must not hang on that. */
function repeatedSubject(text: string): string | undefined {
  const subjects = findNodeAtLocation(parseTree(text)!, ['subjects'])?.children ?? [];
  const names = subjects.map(({ children }) => children![0]!.value as string);
  return names.find((name, index) => names.indexOf(name) !== index);
}

/** The credentials of a profile. What is missing only the one who runs the server can mend. */
function credentialsOfProfile(resolved: ResolvedSettings, redactor: Redactor): () => Promise<Credentials> {
  const read = credentialsOf(resolved, redactor);
  const { profile, baseUrl } = resolved.values;
  return async () => {
    const found = await read();
    const problem = new HeddleError({
      code: 'credentials_missing',
      message:
        found.problem?.message ??
        `Profile "${profile}" has no stored credentials of this kind for ${baseUrl}: nothing was sent.`,
      hint: `Ask whoever runs this server to run \`heddle login --profile ${profile}\`, and then call again.`,
    });
    return { ...found, problem };
  };
}
