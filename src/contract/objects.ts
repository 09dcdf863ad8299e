import * as z from 'zod';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** A number in a query string. Number() alone would read an empty string as 0, and accept more than digits. */
const count = z.preprocess(
  (text) => (/^-?\d+([.]\d+)?$/.test(String(text)) ? Number(text) : Number.NaN),
  z.number().int().min(0),
);

/** Query parameters of the lists of objects. */
export const listObjectsQuery = z.object({ limit: count.optional(), offset: count.optional() });
export type ListObjectsQuery = z.infer<typeof listObjectsQuery>;

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

/** Request to store a version of an object. */
export const createObjectRequest = z.object({
  obj: z.object({
    project_id: projectId,
    object_id: z.string(),
    val: z.unknown(),
    builtin_object_class: z
      .string()
      .nullish()
      .describe('Class of the object, such as AnnotationSpec; `val` must fit it.'),
  }),
});
export type CreateObjectRequest = z.infer<typeof createObjectRequest>;

export const createObjectResponse = z.looseObject({ digest: z.string(), object_id: z.string().nullish() });
export type CreateObjectResponse = z.infer<typeof createObjectResponse>;

/** Request for one version, by its digest, `vN` or `latest`. */
export const readObjectRequest = z.object({ project_id: projectId, object_id: z.string(), digest: z.string() });
export type ReadObjectRequest = z.infer<typeof readObjectRequest>;

export const readObjectResponse = z.looseObject({ obj: objectVersion });
export type ReadObjectResponse = z.infer<typeof readObjectResponse>;

/** Request to delete versions of an object. */
export const deleteObjectRequest = z.object({
  project_id: projectId,
  object_id: z.string(),
  digests: z
    .array(z.string())
    .max(100)
    .nullish()
    .describe('Versions by their digest, `vN` or `latest`; all of them by default.'),
});
export type DeleteObjectRequest = z.infer<typeof deleteObjectRequest>;

export const deleteObjectResponse = z.looseObject({ num_deleted: z.int() });
export type DeleteObjectResponse = z.infer<typeof deleteObjectResponse>;

/** Request for versions of objects. */
export const queryObjectsRequest = z.object({
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
});
export type QueryObjectsRequest = z.infer<typeof queryObjectsRequest>;

export const queryObjectsResponse = z.looseObject({ objs: z.array(objectVersion) });
export type QueryObjectsResponse = z.infer<typeof queryObjectsResponse>;

/** Request for the values of references to objects and their parts; versions are digests. */
export const readReferencesRequest = z.object({ refs: z.array(z.string()).max(1000) });
export type ReadReferencesRequest = z.infer<typeof readReferencesRequest>;

/** The values, in the order of the request. */
export const readReferencesResponse = z.looseObject({ vals: z.array(z.unknown()) });
export type ReadReferencesResponse = z.infer<typeof readReferencesResponse>;
