import { defaultTimeoutsMs } from '../contract/endpoints.ts';
import { projectId } from '../contract/identifiers.ts';
import { logLevels } from '../core/log.ts';

/** One setting: where it can come from, how its text is read, and the help that every surface shows. */
export interface Setting<T = unknown> {
  /** Command line form, like `--project <entity/project>`. Secrets have none, or one that takes no secret: every process sees it. */
  flag?: string;
  environment: string;
  /**
   * What goes before the default when the service is Weave: a name that its users have set already, or the value that
   * all of them have. For the base URL, which settles the service, it always does.
   */
  weave?: { environment: string } | { value: string };
  /** Key in a profile of `config.json`. */
  profile?: string;
  default?: T;
  help: string;
  secret?: true;
  /** Reads the text, also by where it is from; throws an Error whose message says what the text must be. */
  parse: (text: string, from?: SourceKind) => T;
}

/** What a setting can come from. */
export type SourceKind = 'flag' | 'environment' | 'profile' | 'default' | 'unset';

const asText = (text: string): string => text;

function asHttpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') throw new Error('must be an http or https URL');
  if (url.username || url.password) throw new Error('must not hold a user name or password');
  if (url.search || url.hash) throw new Error('must not have a query or fragment');
  return url.href.replace(/\/+$/, '');
}

/** An identifier that tokens carry, compared letter by letter: it stays as it was written. */
function asIssuer(text: string): string {
  asHttpUrl(text);
  const { protocol, hostname } = new URL(text);
  // Whoever can change the issuer's keys on their way can be everybody.
  const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  if (protocol !== 'https:' && !loopback) throw new Error('must be an https URL, or http on this machine');
  return text;
}

/** A URL with a password is a secret, and so has no place in a flag. */
function asDatabaseUrl(text: string, from?: SourceKind): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'postgres:' && url?.protocol !== 'postgresql:') throw new Error('must be a postgres:// URL');
  try {
    decodeURIComponent(url.password);
  } catch {
    throw new Error('must have each % in its password written as %25');
  }
  const secrets = [url.password, ...['password', 'sslpassword'].map((name) => url.searchParams.get(name))];
  if (from === 'flag' && secrets.some(Boolean)) {
    throw new Error(
      'must not hold a password, which every process could read; set it in HEDDLE_DATABASE_URL or PGPASSWORD',
    );
  }
  return text;
}

function asProject(text: string): string {
  if (!projectId.safeParse(text).success) throw new Error('must have the shape entity/project');
  return text;
}

function asWholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < minimum || value > maximum) {
      throw new Error(`must be a whole number from ${minimum} to ${maximum}`);
    }
    return value;
  };
}

function asBoolean(text: string): boolean {
  if (['1', 'true', 'yes', 'on'].includes(text.toLowerCase())) return true;
  if (['0', 'false', 'no', 'off'].includes(text.toLowerCase())) return false;
  throw new Error('must be true or false');
}

function asList(text: string): readonly string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function asOneOf<const T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new Error(`must be one of ${words.join(', ')}`);
    return word;
  };
}

/** Also reads what a token file holds. */
export function asHeaderToken(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Error('must be one line of visible ASCII characters without spaces');
  return text;
}

function setting<T, const O extends Setting<T>>(definition: O & { parse: (text: string, from?: SourceKind) => T }): O {
  return definition;
}

/** Base URL of the public Weave service, which `login --weave` sets up. */
export const publicWeave = 'https://trace.wandb.ai';

/** Every setting of heddle (design §3). Parser, help and reference page are made from this table. */
export const settingDefinitions = {
  profile: setting({
    flag: '--profile <name>',
    environment: 'HEDDLE_PROFILE',
    default: 'default',
    help: 'profile of config.json to use',
    parse: asText,
  }),
  baseUrl: setting({
    flag: '--base-url <url>',
    environment: 'HEDDLE_BASE_URL',
    profile: 'base_url',
    // It names a service, so the embedded one must not take its place; but what was set for heddle goes before it.
    weave: { environment: 'WF_TRACE_SERVER_URL' },
    help: 'base address of the service; without one the embedded service is used. WF_TRACE_SERVER_URL counts where nothing else says it',
    parse: asHttpUrl,
  }),
  weave: setting({
    environment: 'HEDDLE_WEAVE',
    profile: 'weave',
    help: `true or false: whether one Weave API key, also from WANDB_API_KEY, is both password and token; true by default for ${publicWeave} and a base URL from WF_TRACE_SERVER_URL`,
    parse: asBoolean,
  }),
  project: setting({
    flag: '--project <entity/project>',
    environment: 'HEDDLE_PROJECT',
    profile: 'project',
    help: 'project that calls work in when they name none',
    parse: asProject,
  }),
  username: setting({
    flag: '--username <name>',
    environment: 'HEDDLE_USERNAME',
    profile: 'username',
    weave: { value: 'api' },
    help: 'user name for the queue and evaluation operations; api by default for Weave',
    parse: asText,
  }),
  password: setting({
    environment: 'HEDDLE_PASSWORD',
    weave: { environment: 'WANDB_API_KEY' },
    secret: true,
    help: 'password for the queue and evaluation operations',
    parse: asText,
  }),
  token: setting({
    environment: 'HEDDLE_TOKEN',
    weave: { environment: 'WANDB_API_KEY' },
    secret: true,
    help: 'bearer token for inference',
    parse: asHeaderToken,
  }),
  httpToken: setting({
    environment: 'HEDDLE_HTTP_TOKEN',
    secret: true,
    help: 'bearer token that clients of heddle serve --http must send; needed to listen beyond loopback',
    parse: asHeaderToken,
  }),
  oauthIssuer: setting({
    flag: '--oauth-issuer <url>',
    environment: 'HEDDLE_OAUTH_ISSUER',
    help: 'issuer of the access tokens that clients of heddle serve --http must send, exactly as it writes itself',
    parse: asIssuer,
  }),
  publicUrl: setting({
    flag: '--public-url <url>',
    environment: 'HEDDLE_PUBLIC_URL',
    help: 'address of the endpoint as clients know it, like https://mcp.example.com/mcp; with --oauth-issuer, needed beyond loopback and behind a proxy',
    parse: asHttpUrl,
  }),
  oauthAudience: setting({
    flag: '--oauth-audience <text>',
    environment: 'HEDDLE_OAUTH_AUDIENCE',
    help: 'audience that access tokens must name, where it is not the public URL',
    parse: asText,
  }),
  subjects: setting({
    flag: '--subjects <file>',
    environment: 'HEDDLE_SUBJECTS',
    help: 'JSON file that gives each subject of access tokens a profile; without one all use the configured profile',
    parse: asText,
  }),
  dataDir: setting({
    flag: '--data-dir <folder>',
    environment: 'HEDDLE_DATA_DIR',
    help: "folder of the embedded service's data",
    parse: asText,
  }),
  databaseUrl: setting({
    flag: '--database <url>',
    environment: 'HEDDLE_DATABASE_URL',
    secret: true,
    help: "postgres:// URL of the embedded service's data, in place of a file; a password is taken from the environment only, or from ~/.pgpass",
    parse: asDatabaseUrl,
  }),
  timeoutMs: setting({
    flag: '--timeout-ms <ms>',
    environment: 'HEDDLE_TIMEOUT_MS',
    profile: 'timeout_ms',
    default: defaultTimeoutsMs.tool,
    help: 'milliseconds that one tool call may take, retries included; inference has its own limit',
    parse: asWholeNumber(1, 86_400_000),
  }),
  inferenceTimeoutMs: setting({
    flag: '--inference-timeout-ms <ms>',
    environment: 'HEDDLE_INFERENCE_TIMEOUT_MS',
    profile: 'inference_timeout_ms',
    default: defaultTimeoutsMs.inference,
    help: 'milliseconds that one call of run_inference may take, retries included',
    parse: asWholeNumber(1, 86_400_000),
  }),
  keychainTimeoutMs: setting({
    flag: '--keychain-timeout-ms <ms>',
    environment: 'HEDDLE_KEYCHAIN_TIMEOUT_MS',
    help: 'milliseconds that the keychain may take to answer; without it 5000 for reading and 60000 for writing, which may ask you to unlock it',
    parse: asWholeNumber(1, 86_400_000),
  }),
  maxResultChars: setting({
    flag: '--max-result-chars <count>',
    environment: 'HEDDLE_MAX_RESULT_CHARS',
    profile: 'max_result_chars',
    default: 50_000,
    help: 'most characters of one serialised tool result',
    parse: asWholeNumber(2_000, 100_000_000),
  }),
  text: setting({
    flag: '--text <form>',
    environment: 'HEDDLE_TEXT',
    profile: 'text',
    default: 'compact',
    help: 'text of tool results: compact, or json to repeat the structured result',
    parse: asOneOf(['compact', 'json']),
  }),
  readOnly: setting({
    flag: '--read-only',
    environment: 'HEDDLE_READ_ONLY',
    profile: 'read_only',
    default: false,
    help: 'offer only tools that change nothing',
    parse: asBoolean,
  }),
  tools: setting({
    flag: '--tools <list>',
    environment: 'HEDDLE_TOOLS',
    profile: 'tools',
    help: 'offer only these tools or groups (queue, inference, evaluation), separated by commas',
    parse: asList,
  }),
  logLevel: setting({
    flag: '--log-level <level>',
    environment: 'HEDDLE_LOG_LEVEL',
    profile: 'log_level',
    default: 'warn',
    help: `least severity to log on stderr: ${logLevels.join(', ')}`,
    parse: asOneOf(logLevels),
  }),
  logFormat: setting({
    flag: '--log-format <form>',
    environment: 'HEDDLE_LOG_FORMAT',
    profile: 'log_format',
    default: 'text',
    help: 'form of the log: text, or json for one object a line',
    parse: asOneOf(['text', 'json']),
  }),
  modelProviderUrl: setting({
    flag: '--model-provider <url>',
    environment: 'HEDDLE_MODEL_PROVIDER_URL',
    help: 'OpenAI-compatible API that the embedded service forwards inference to, like http://127.0.0.1:11434/v1',
    parse: asHttpUrl,
  }),
  modelProviderKey: setting({
    environment: 'HEDDLE_MODEL_PROVIDER_KEY',
    secret: true,
    help: 'API key of the model provider',
    parse: asText,
  }),
} as const;

export type SettingName = keyof typeof settingDefinitions;

type Value<O> = O extends { parse: (text: string, from?: SourceKind) => infer T }
  ? O extends { default: unknown }
    ? T
    : T | undefined
  : never;

/** The settings of one run, read once and frozen. */
export type SettingValues = { readonly [Name in SettingName]: Value<(typeof settingDefinitions)[Name]> };
