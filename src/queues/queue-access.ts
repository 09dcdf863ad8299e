import type { CallContext, Judge } from '../records/call-context.ts';

/** A queue, the one who judges in it, and the means to reach it. */
export interface QueueAccess extends Judge {
  service: CallContext['service'];
  id: string;
  /** `entity/project` */
  project: string;
  progress?: CallContext['progress'];
  noteMeant?: CallContext['noteMeant'];
}
