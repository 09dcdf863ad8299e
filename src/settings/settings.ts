import { defaultTimeoutsMs, inferencePrefix } from '../contract/endpoint.ts';
import { isProjectId } from '../contract/path-segments.ts';
import { databaseUrls } from '../core/database-url.ts';
import { isLoopbackHost } from '../core/http/loopback.ts';
import { logLevels } from '../core/log.ts';
import type { StoreKind } from './profiles.ts';

/** One setting: where its value can come from, how its text is parsed, and its help text. */
export interface Setting<T = unknown> {
  /** Flag of the command line, like `--project <entity/project>`. Secrets have none, since every process can read flags. */
  flag?: string;
  environment: string;
  /** Also reads the variable in lower case, as other programs do; that one takes precedence. */
  lowerCase?: true;
  /**
   * For Weave, takes precedence over the default: a variable that Weave users have already set, or a fixed value. The base
   * URL, which determines the service, always uses it.
   */
  weave?: { environment: string } | { value: string };
  /** Key in a profile of the configuration file. */
  profile?: string;
  default?: T;
  help: string;
  secret?: true;
  /** Parses the text, given where it came from. Throws an Error whose message says what the text must be. */
  parse?: (text: string, from?: SourceKind) => T;
}

/**
 * Default time limits of the keychain in milliseconds. Writing and removing get longer, because they may ask the user to
 * unlock the keychain.
 */
export const defaultKeychainTimeoutsMs = { read: 5_000, write: 60_000 } as const;

export type SourceKind = 'flag' | 'environment' | 'profile' | StoreKind | 'default' | 'unset';

function asHttpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') throw new Error('must be an http or https URL');
  if (url.username || url.password) throw new Error('must not contain a user name or password');
  if (url.search || url.hash) throw new Error('must not have a query or fragment');
  return url.href.replace(/(?<!\/)\/+$/, '');
}

/** Checks the URL of an issuer and keeps its spelling, since tokens must repeat it exactly. */
function asIssuer(text: string): string {
  asHttpUrl(text);
  const { protocol, hostname } = new URL(text);
  // Over http, an attacker could replace the issuer's keys and impersonate anyone.
  if (protocol !== 'https:' && !isLoopbackHost(hostname))
    throw new Error('must be an https URL, or http on this machine');
  return text;
}

/** Checks a PostgreSQL URL, which may list several hosts. Rejects passwords in flags, which every process can read. */
function asDatabaseUrl(text: string, from?: SourceKind): string {
  const [url] = databaseUrls(text) ?? [];
  if (!url) throw new Error('must be a postgres:// URL');
  try {
    decodeURIComponent(url.password);
  } catch {
    throw new Error('must write each % in its password as %25');
  }
  const wanted = url.searchParams.get('target_session_attrs') ?? 'read-write';
  if (wanted !== 'read-write' && wanted !== 'primary') {
    throw new Error('must have the target_session_attrs read-write or primary, or none: heddle writes');
  }
  const secrets = [url.password, ...['password', 'sslpassword'].map((name) => url.searchParams.get(name))];
  if (from === 'flag' && secrets.some(Boolean)) {
    throw new Error(
      'must not contain a password, which every process could read; set it in HEDDLE_DATABASE_URL or PGPASSWORD',
    );
  }
  return text;
}

function asProject(text: string): string {
  if (!isProjectId(text)) throw new Error('must have the shape entity/project');
  return text;
}

/** Returns a parser of whole numbers. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
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
  const words = text.split(',').map((word) => word.trim());
  return words.filter((word) => word !== '');
}

/** Parses names with the URLs that they stand for. */
function asEndpoints(text: string): readonly (readonly [name: string, url: string])[] {
  return asList(text).map((word) => {
    const at = word.indexOf('=');
    if (at < 1) throw new Error('must have the shape NAME=URL, with commas between several');
    return [word.slice(0, at), asHttpUrl(word.slice(at + 1))] as const;
  });
}

function asOneOf<const T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new Error(`must be one of ${words.join(', ')}`);
    return word;
  };
}

/** Refuses the one name under which JavaScript objects cannot keep a member of their own. */
function asProfileName(text: string): string {
  if (text === '__proto__') throw new Error('cannot be the name of a profile');
  return text;
}

/** Checks a bearer token or key from a setting or a token file. */
export function asHeaderToken(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Error('must be one line of visible ASCII characters without spaces');
  return text;
}

/** Returns a definition with its literal types, which determine the type of the setting's value. */
function setting<T, const Definition extends Setting<T>>(
  definition: Definition & { parse?: (text: string, from?: SourceKind) => T },
): Definition {
  return definition;
}

/** Base URL of the public Weave service, which `login --weave` uses. */
export const publicWeave = 'https://trace.wandb.ai';

/** The address of inference of the public Weave service. */
const publicInference = 'https://api.inference.wandb.ai/v1';

/** Returns the address of a service's inference unless the setting `inferenceUrl` names another. */
export function defaultInferenceUrl(baseUrl: string): string {
  return baseUrl === publicWeave ? publicInference : baseUrl + inferencePrefix;
}

/** Every setting of heddle. Flags, help texts and docs/configuration.md are generated from this table. */
export const settingDefinitions = {
  profile: setting({
    flag: '--profile <name>',
    environment: 'HEDDLE_PROFILE',
    default: 'default',
    help: 'profile of the configuration file to use',
    parse: asProfileName,
  }),
  baseUrl: setting({
    flag: '--base-url <url>',
    environment: 'HEDDLE_BASE_URL',
    profile: 'base_url',
    weave: { environment: 'WF_TRACE_SERVER_URL' },
    help: 'base URL of the service, by default WF_TRACE_SERVER_URL; if neither is set, the embedded service is used',
    parse: asHttpUrl,
  }),
  inferenceUrl: setting({
    flag: '--inference-url <url>',
    environment: 'HEDDLE_INFERENCE_URL',
    profile: 'inference_url',
    help: `URL of the service's inference, with its version; by default ${publicInference} for ${publicWeave}, and the base URL with ${inferencePrefix} for every other service`,
    parse: asHttpUrl,
  }),
  weave: setting({
    environment: 'HEDDLE_WEAVE',
    profile: 'weave',
    help: `true to use one Weave API key, by default WANDB_API_KEY, as both password and token; true by default for ${publicWeave} and for a base URL from WF_TRACE_SERVER_URL`,
    parse: asBoolean,
  }),
  project: setting({
    flag: '--project <entity/project>',
    environment: 'HEDDLE_PROJECT',
    profile: 'project',
    help: 'project of tool calls that name none',
    parse: asProject,
  }),
  username: setting({
    flag: '--username <name>',
    environment: 'HEDDLE_USERNAME',
    profile: 'username',
    weave: { value: 'api' },
    help: 'user name for queue and evaluation operations; api by default for Weave',
  }),
  password: setting({
    environment: 'HEDDLE_PASSWORD',
    weave: { environment: 'WANDB_API_KEY' },
    secret: true,
    help: 'password for queue and evaluation operations',
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
    help: 'bearer token that clients of heddle serve --http must send; required to listen on addresses other than loopback',
    parse: asHeaderToken,
  }),
  oauthIssuer: setting({
    flag: '--oauth-issuer <url>',
    environment: 'HEDDLE_OAUTH_ISSUER',
    help: 'issuer of the access tokens that clients of heddle serve --http must send, spelled exactly as in the tokens',
    parse: asIssuer,
  }),
  publicUrl: setting({
    flag: '--public-url <url>',
    environment: 'HEDDLE_PUBLIC_URL',
    help: 'URL under which clients reach the endpoint, like https://mcp.example.com/mcp, and browsers the board; with --oauth-issuer or --board, required behind a proxy and on addresses other than loopback',
    parse: asHttpUrl,
  }),
  oauthAudience: setting({
    flag: '--oauth-audience <audience>',
    environment: 'HEDDLE_OAUTH_AUDIENCE',
    help: 'audience that access tokens must name, if it is not the public URL',
  }),
  subjects: setting({
    flag: '--subjects <file>',
    environment: 'HEDDLE_SUBJECTS',
    help: 'JSON file that assigns a profile to each subject of access tokens; without it, all subjects use the configured profile',
  }),
  loginIssuer: setting({
    flag: '--login-issuer <url>',
    environment: 'HEDDLE_LOGIN_ISSUER',
    help: 'OpenID Connect issuer at which people log in to the board of --board, spelled exactly as in its metadata',
    parse: asIssuer,
  }),
  loginClientId: setting({
    flag: '--login-client-id <id>',
    environment: 'HEDDLE_LOGIN_CLIENT_ID',
    help: 'id of heddle as a client of that issuer',
  }),
  loginClientSecret: setting({
    environment: 'HEDDLE_LOGIN_CLIENT_SECRET',
    secret: true,
    help: 'secret of heddle as a client of that issuer; without it, heddle is a public client there',
  }),
  dataDir: setting({
    flag: '--data-dir <folder>',
    environment: 'HEDDLE_DATA_DIR',
    help: "folder for the embedded service's data; as a flag also instead of HEDDLE_DATABASE_URL",
  }),
  databaseUrl: setting({
    flag: '--database <url>',
    environment: 'HEDDLE_DATABASE_URL',
    secret: true,
    help: "PostgreSQL database for the embedded service's data instead of a file, as a postgres:// URL with one host or several; its password may come from the environment or from ~/.pgpass, but not from the flag",
    parse: asDatabaseUrl,
  }),
  textIndex: setting({
    flag: '--text-index <on|off>',
    environment: 'HEDDLE_TEXT_INDEX',
    help: "whether the embedded service's data have an index of the texts in recorded calls: on builds it in the background, off removes it; without this setting, what is there stays. With it, a search for text that few calls have takes milliseconds among a million, and recording takes about twice as long",
    parse: asOneOf(['on', 'off']),
  }),
  timeoutMs: setting({
    flag: '--timeout-ms <ms>',
    environment: 'HEDDLE_TIMEOUT_MS',
    profile: 'timeout_ms',
    default: defaultTimeoutsMs.tool,
    help: 'maximum duration of one tool call in milliseconds, including retries; inference has its own limit',
    parse: wholeNumber(1, 86_400_000),
  }),
  inferenceTimeoutMs: setting({
    flag: '--inference-timeout-ms <ms>',
    environment: 'HEDDLE_INFERENCE_TIMEOUT_MS',
    profile: 'inference_timeout_ms',
    default: defaultTimeoutsMs.inference,
    help: 'maximum duration of one run_inference call in milliseconds, including retries',
    parse: wholeNumber(1, 86_400_000),
  }),
  keychainTimeoutMs: setting({
    flag: '--keychain-timeout-ms <ms>',
    environment: 'HEDDLE_KEYCHAIN_TIMEOUT_MS',
    help: `maximum time for the keychain to respond, in milliseconds; by default ${defaultKeychainTimeoutsMs.read} for reading and ${defaultKeychainTimeoutsMs.write} for writing, which may ask you to unlock it`,
    parse: wholeNumber(1, 86_400_000),
  }),
  maxResultChars: setting({
    flag: '--max-result-chars <count>',
    environment: 'HEDDLE_MAX_RESULT_CHARS',
    profile: 'max_result_chars',
    // Codex cuts what is larger than 48,000 bytes in the middle; Claude Code puts more than 50,000 characters into a file.
    default: 40_000,
    help: 'maximum number of characters of each of the two forms of a tool result; a character outside ASCII counts as 2 to 4',
    parse: wholeNumber(2_000, 100_000_000),
  }),
  text: setting({
    flag: '--text-format <format>',
    environment: 'HEDDLE_TEXT',
    profile: 'text',
    default: 'compact',
    help: 'format of the text of tool results: compact, or json to repeat the structured result',
    parse: asOneOf(['compact', 'json']),
  }),
  readOnly: setting({
    flag: '--read-only',
    environment: 'HEDDLE_READ_ONLY',
    profile: 'read_only',
    default: false,
    help: 'offer only tools that do not change data',
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
    help: `lowest severity to log on stderr: ${logLevels.join(', ')}`,
    parse: asOneOf(logLevels),
  }),
  logFormat: setting({
    flag: '--log-format <format>',
    environment: 'HEDDLE_LOG_FORMAT',
    profile: 'log_format',
    default: 'text',
    help: 'format of the log: text, or json for one object per line',
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
    parse: asHeaderToken,
  }),
  scorerEndpoints: setting({
    environment: 'HEDDLE_SCORER_ENDPOINTS',
    help: 'programs of your own that score outputs for the embedded service, like tone=http://127.0.0.1:9000/score, separated by commas; scorers of the kind endpoint name them',
    parse: asEndpoints,
  }),
  httpsProxy: setting({
    environment: 'HTTPS_PROXY',
    lowerCase: true,
    secret: true,
    help: 'HTTP proxy for requests to https addresses, like http://user:password@proxy.example:3128',
  }),
  httpProxy: setting({
    environment: 'HTTP_PROXY',
    lowerCase: true,
    secret: true,
    help: 'the same for requests to http addresses',
  }),
  noProxy: setting({
    environment: 'NO_PROXY',
    lowerCase: true,
    help: 'hosts to reach without a proxy, separated by commas; a name stands also for its subdomains, * for every host',
  }),
} as const;

export type SettingName = keyof typeof settingDefinitions;

export const settingNames = Object.keys(settingDefinitions) as SettingName[];

type Parsed<Definition> = Definition extends { parse: (text: string, from?: SourceKind) => infer T } ? T : string;
type Value<Definition> = Definition extends { default: unknown } ? Parsed<Definition> : Parsed<Definition> | undefined;

/** The values of all settings, frozen. */
export type SettingValues = { readonly [Name in SettingName]: Value<(typeof settingDefinitions)[Name]> };
