import * as z from 'zod';
import { endpoint, noProject, projectInBody, projectInPath } from './endpoint.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** A number in a query string. Number() alone would read an empty string as 0, and accept more than digits. */
const count = z.preprocess(
  (text) => (/^-?\d+([.]\d+)?$/.test(String(text)) ? Number(text) : Number.NaN),
  z.number().int().min(0),
);

/** Query parameters of the lists of objects. */
export const listObjectsQuery = z.object({ limit: count.optional(), offset: count.optional() });

/** One version in a list of evaluations, datasets or scorers. */
export const storedObject = z.looseObject({
  object_id: z.string(),
  digest: z.string(),
  version_index: z.int().nullish(),
  created_at: z.string().nullish(),
  name: z.string().nullish(),
  description: z.string().nullish(),
});
export type StoredObject = z.infer<typeof storedObject>;

/** One version of an object or, with `kind` `op`, of a traced function. Its class is that of a class of the SDK. */
export const objectVersion = z.looseObject({
  project_id: z.string(),
  object_id: z.string(),
  digest: z.string(),
  version_index: z.int(),
  is_latest: z.int().nullish().describe('1 for the newest version, else 0.'),
  created_at: z.string().nullish(),
  kind: z.string().nullish().describe('object or op.'),
  base_object_class: z.string().nullish().describe('Class such as Dataset, Evaluation, Scorer or AnnotationSpec.'),
  leaf_object_class: z.string().nullish(),
  val: z.unknown().optional().describe('The content; empty when a query asks for metadata only.'),
});
export type ObjectVersion = z.infer<typeof objectVersion>;

/** Returns the members with which the SDK marks the class of an object and the class it extends. */
export const classMembers = (base: string, leaf: string) => ({
  _type: leaf,
  _class_name: leaf,
  _bases: [...(base === leaf ? [] : [base]), 'Object', 'BaseModel'],
});

/** The common part of the endpoints that list the objects of one kind. */
const objectList = {
  method: 'GET',
  projects: projectInPath,
  query: listObjectsQuery,
  response: storedObject,
  lines: true,
} as const;

/** The operations on objects, which have versions. */
export const objectEndpoints = {
  createObject: endpoint({
    summary: 'Store a version of an object',
    description: 'The same content under the same name is the same version.',
    path: '/obj/create',
    projects: ({ body }) => [body.obj.project_id],
    request: z.object({
      obj: z.object({
        project_id: projectId,
        object_id: z.string(),
        val: z.unknown(),
        builtin_object_class: z
          .string()
          .nullish()
          .describe('Class of the object, such as AnnotationSpec; `val` must fit it.'),
      }),
    }),
    response: z.looseObject({ digest: z.string(), object_id: z.string().nullish() }),
    writes: true,
    repeatable: true,
  }),
  readObject: endpoint({
    summary: 'Read a version of an object',
    path: '/obj/read',
    projects: projectInBody,
    // `digest` may also be `vN` or `latest`.
    request: z.object({ project_id: projectId, object_id: z.string(), digest: z.string() }),
    response: z.looseObject({ obj: objectVersion }),
  }),
  deleteObject: endpoint({
    summary: 'Delete versions of an object',
    description: 'Nothing is deleted if one of them is unknown.',
    path: '/obj/delete',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      object_id: z.string(),
      digests: z
        .array(z.string())
        .max(100)
        .nullish()
        .describe('Versions by their digest, `vN` or `latest`; all of them by default.'),
    }),
    response: z.looseObject({ num_deleted: z.int() }),
    writes: true,
    repeatable: false,
  }),
  queryObjects: endpoint({
    summary: 'Query versions of objects',
    path: '/objs/query',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      filter: z
        .object({
          base_object_classes: z.array(z.string()).max(1000).nullish(),
          leaf_object_classes: z.array(z.string()).max(1000).nullish(),
          object_ids: z.array(z.string()).max(1000).nullish(),
          is_op: z.boolean().nullish(),
          latest_only: z.boolean().nullish().describe('Return only the newest version of each object.'),
        })
        .nullish(),
      sort_by: z.array(sortKey).nullish().describe('By created_at or object_id; created_at ascending by default.'),
      limit: z.int().min(0).nullish().describe('Maximum number of versions to return.'),
      offset: z.int().min(0).nullish().describe('Number of versions to skip.'),
      metadata_only: z.boolean().nullish().describe('Leave the content out.'),
    }),
    response: z.looseObject({ objs: z.array(objectVersion) }),
  }),
  readReferences: endpoint({
    summary: 'Read the values of references',
    path: '/refs/read_batch',
    // A reference to a project that the account may not see has no value, like one to a project that does not exist.
    projects: noProject,
    // References to objects and their parts, whose versions are digests.
    request: z.object({ refs: z.array(z.string()).max(1000) }),
    response: z.looseObject({ vals: z.array(z.unknown()) }),
  }),
  listEvaluations: endpoint({ summary: 'List evaluations', path: '/v2/{entity}/{project}/evaluations', ...objectList }),
  listDatasets: endpoint({ summary: 'List datasets', path: '/v2/{entity}/{project}/datasets', ...objectList }),
  listScorers: endpoint({ summary: 'List scorers', path: '/v2/{entity}/{project}/scorers', ...objectList }),
  readDatasetVersion: endpoint({
    summary: 'Read a version of a dataset',
    method: 'GET',
    path: '/v2/{entity}/{project}/datasets/{object_id}/versions/{digest}',
    projects: projectInPath,
    response: storedObject,
  }),
};
