import type { CallContext, Judge, ServiceAccess } from '../records/call-context.ts';

/** A queue, the one who judges in it, and the means to reach it. */
export interface QueueAccess extends ServiceAccess, Judge {
  id: string;
  /** `entity/project` */
  project: string;
  progress?: CallContext['progress'];
}
