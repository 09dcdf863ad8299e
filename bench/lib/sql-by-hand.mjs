// The queue query written by hand on the service's data file: one prepared statement, nothing around it.

async function loadSqlite() {
  const builtin = process.getBuiltinModule?.('node:sqlite');
  return (builtin ?? (await import('@photostructure/sqlite'))).DatabaseSync;
}

/** Opens the data file while the service uses it. */
export async function openByHand(file) {
  const DatabaseSync = await loadSqlite();
  const database = new DatabaseSync(file);
  const statements = new Map();
  return {
    page(projectId, queueId, request) {
      const { sql, values } = statementOf(projectId, queueId, request);
      if (!statements.has(sql)) statements.set(sql, database.prepare(sql));
      return statements.get(sql).all(...values);
    },
    close: () => database.close(),
  };
}

function statementOf(projectId, queueId, { limit, offset = 0, sort_by = [], filter = {}, include_position }) {
  const keys = sort_by.length > 0 ? sort_by : [{ field: 'created_at', direction: 'asc' }];
  const order = [...keys, { field: 'id', direction: 'asc' }]
    .map(({ field, direction }) => `${field} ${direction}`)
    .join(', ');
  const { annotation_states = [], ...equal } = filter;
  const conditions = Object.keys(equal).map((name) => `${name} = ?`);
  if (annotation_states.length > 0)
    conditions.push(`annotation_state in (${annotation_states.map(() => '?').join(', ')})`);
  const wanted = [...Object.values(equal), ...annotation_states];
  const queue = 'project_id = ? and queue_id = ? and deleted_at is null';
  if (include_position) {
    const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
    return {
      sql: `select * from (select *, row_number() over (order by ${order}) as position_in_queue from queue_items where ${queue}) ${where} order by position_in_queue limit ? offset ?`,
      values: [projectId, queueId, ...wanted, limit, offset],
    };
  }
  return {
    sql: `select * from queue_items where ${[queue, ...conditions].join(' and ')} order by ${order} limit ? offset ?`,
    values: [projectId, queueId, ...wanted, limit, offset],
  };
}
