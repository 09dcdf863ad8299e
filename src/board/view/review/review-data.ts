/** A field of the queue, as the tool review_queue describes it. */
export interface Field {
  name: string;
  type?: string;
  choices?: unknown[];
  min?: number;
  max?: number;
  schema?: Record<string, unknown>;
  description?: string;
}

export interface SuggestedValue {
  field: string;
  value: unknown;
  by: string;
}

export interface ItemData {
  id: string;
  annotation_state: string;
  call_id: string;
  call_op_name: string;
  call_started_at: string;
  call_values?: Record<string, unknown>;
  call_error?: { message?: string };
  /** The person's own judgements and note. */
  judgements?: Record<string, unknown>;
  note?: string;
  suggestions?: SuggestedValue[];
}

export type Filter = Record<string, unknown> & { annotation_states?: string[]; unjudged_by_me?: boolean };

/** The result of the tool review_queue. */
export interface ReviewPage {
  queue: { id: string; project_id: string; name: string; guidelines?: string; remaining?: number; total?: number };
  fields?: Field[];
  can_write: boolean;
  filter: Filter;
  items: ItemData[];
  offset: number;
  next_offset?: number;
  as_of: string;
  account?: string;
}

/** The result of the tool update_queue_items for one item. */
export interface WrittenItem {
  item_id: string;
  result: string;
  annotation_state?: string;
  meanwhile?: string;
  error?: { code?: string; message?: string };
}

export interface WrittenItems {
  items: WrittenItem[];
  annotation_state?: string;
  counts: Record<string, number>;
  hint?: string;
}

/** A judgement or a note of somebody. */
export interface GivenJudgement {
  annotator: string;
  field?: string;
  value?: unknown;
  note?: string;
  at: string;
}
