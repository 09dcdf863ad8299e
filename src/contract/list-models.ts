import * as z from 'zod';

/** Models that the inference service offers. */
export const listModelsResponse = z.looseObject({
  object: z.string().nullish(),
  data: z.array(z.looseObject({ id: z.string() })),
});

export type ListModelsResponse = z.infer<typeof listModelsResponse>;
