import type { StartedCall } from '../../contract/calls.ts';
import type { Log } from '../../core/log.ts';

/** A UUID, or the id of a span or a trace of OpenTelemetry. */
const acceptedId = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{32})$/i;

/** The projects whose ids a log was warned of; after so many, no further one is. */
const warned = new WeakMap<Log, Set<string>>();
const maxWarned = 1000;

/** Warns once for each project of calls whose ids the public service would refuse. */
export function warnOfIds(starts: readonly Pick<StartedCall, 'project_id' | 'id' | 'trace_id'>[], log: Log): void {
  const projects = warned.get(log) ?? new Set();
  warned.set(log, projects);
  for (const { project_id, id, trace_id } of starts) {
    const other = [id, trace_id].find((text) => text != null && text !== '' && !acceptedId.test(text));
    if (other == null || projects.has(project_id) || projects.size === maxWarned) continue;
    projects.add(project_id);
    log('warn', 'calls are stored with ids that the public service refuses: use UUIDs, or ids of OpenTelemetry', {
      project_id,
      id: other.slice(0, 100).toWellFormed(),
    });
  }
}
