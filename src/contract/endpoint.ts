import type * as z from 'zod';

/** The scheme of the Authorization header. */
export type AuthScheme = 'basic' | 'bearer';

/** The timeouts of requests and their defaults in milliseconds; each is a setting. */
export const defaultTimeoutsMs = { tool: 60_000, inference: 600_000 } as const;

/** Begins the path of the inference operations, which a service may also have at another address. */
export const inferencePrefix = '/inference/v1';

/** The names of the parameters in a path. */
type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Wildcard}*` ? Wildcard : Name) | PathParameter<Rest>
  : never;

/** The values of the parameters in a path. */
export type PathValues<Path extends string> = Record<PathParameter<Path>, string>;

/** One operation of the service. */
export interface Endpoint<
  Path extends string = string,
  Request extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
  Lines extends true = true,
> {
  summary: string;
  description?: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the base URL. `{name}` is one segment; `{path*}` is the rest, including its leading slash. */
  path: Path;
  /** Another path, which some clients use. */
  alias?: string;
  auth: AuthScheme;
  /** Returns the projects that a request names. The service refuses an account that may not see all of them. */
  projects(input: { path: PathValues<Path>; query: z.output<Query>; body: z.output<Request> }): readonly string[];
  /** Schema of the body; absent without a body. */
  request?: Request;
  /** Schema of the query parameters; absent without any. */
  query?: Query;
  response: Response;
  /** Set if the body is a form with a file (multipart/form-data) instead of JSON. */
  form?: true;
  /** Set if the response has one JSON value per line (NDJSON), each described by `response`. */
  lines?: Lines;
  /** Set if the response is bytes instead of JSON. */
  bytes?: true;
  /** True if it changes what the service stores. */
  writes: boolean;
  /** False if running it twice does harm. It is then sent again only if the service certainly did not run it. */
  repeatable: boolean;
  /** The schema of the bodies with which it can be repeated; absent if it does not depend on the body. */
  repeatableWith?: z.ZodType;
  /** The timeout that covers the request and its retries. */
  timeout: keyof typeof defaultTimeoutsMs;
}

type Defaulted = 'method' | 'auth' | 'timeout' | 'writes' | 'repeatable';

/** An operation that writes says whether it can be repeated; one that only reads can, unless it says otherwise. */
type Effect = { writes?: undefined; repeatable?: false } | { writes: true; repeatable: boolean };

/** Defines an operation: a POST with Basic authorization, unless the definition says otherwise. */
export function endpoint<
  const Path extends string,
  Response extends z.ZodType,
  Request extends z.ZodType = never,
  Query extends z.ZodType = never,
  Lines extends true = never,
>(
  definition: Omit<Endpoint<Path, Request, Query, Response, Lines>, Defaulted> &
    Partial<Pick<Endpoint, 'method' | 'auth' | 'timeout'>> &
    Effect,
): Endpoint<Path, Request, Query, Response, Lines> {
  const defaults = { method: 'POST', auth: 'basic', timeout: 'tool', writes: false, repeatable: true } as const;
  return { ...defaults, ...definition };
}

/** Returns the project that the body of a request names, for `projects` of an endpoint. */
export const projectInBody = ({ body }: { body: { project_id: string } }): string[] => [body.project_id];

/** Returns the project that the query of a request names. */
export const projectInQuery = ({ query }: { query: { project_id: string } }): string[] => [query.project_id];

/** Returns the project that the path of a request names. */
export const projectInPath = ({ path }: { path: { entity: string; project: string } }): string[] => [
  `${path.entity}/${path.project}`,
];

/** Returns no project: for operations that name none, or that look at the access to each one that they meet. */
export const noProject = (): string[] => [];
