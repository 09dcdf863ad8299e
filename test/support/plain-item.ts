const time = '2025-04-07T14:39:02.000Z';

/** A queue item with the members that every service sends, for services that send hostile ones. */
export const plainItem = {
  id: 'i',
  project_id: 'a/b',
  queue_id: 'q',
  call_id: 'c',
  call_started_at: time,
  call_op_name: 'op',
  call_trace_id: 't',
  display_fields: [],
  annotation_state: 'unstarted',
  created_at: time,
  created_by: 'me',
  updated_at: time,
};
