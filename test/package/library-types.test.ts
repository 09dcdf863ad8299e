import { expectTypeOf, test } from 'vitest';
import type * as api from '../../src/api/types.ts';
import type { ServiceClient } from '../../src/client/service-client.ts';
import type { RecordedCall } from '../../src/contract/calls.ts';
import type { EndpointName } from '../../src/contract/endpoints.ts';
import type { InferenceRequest } from '../../src/contract/inference.ts';
import type { QueryQueueItemsRequest, QueueItem } from '../../src/contract/queue-items.ts';
import type { Client, Contract } from '../../src/library.ts';

// Checked by the compiler, in `npm run lint`: the types that the package declares are those of the contract.
test('the declared types and the contract allow the same values', () => {
  expectTypeOf<keyof Contract>().toEqualTypeOf<EndpointName>();
  expectTypeOf<api.QueryQueueItemsRequest>().toExtend<QueryQueueItemsRequest>();
  expectTypeOf<QueryQueueItemsRequest>().toExtend<api.QueryQueueItemsRequest>();
  expectTypeOf<api.InferenceRequest>().toExtend<InferenceRequest>();
  expectTypeOf<InferenceRequest>().toExtend<api.InferenceRequest>();
  expectTypeOf<api.QueueItem>().toExtend<QueueItem>();
  expectTypeOf<QueueItem>().toExtend<api.QueueItem>();
  expectTypeOf<RecordedCall>().toExtend<api.RecordedCall>();
});

test('the real client has every operation of the declared one', () => {
  expectTypeOf<ServiceClient>().toExtend<Client>();
});
