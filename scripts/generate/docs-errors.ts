import { type ErrorCode, errorCodes } from '../../src/core/errors.ts';
import { code, heading, table } from './markdown.ts';

/** What each code means and what to do. A new code does not compile without its words. */
const meanings: Record<ErrorCode, [meaning: string, next: string]> = {
  invalid_arguments: ['The arguments do not fit. Nothing was sent.', 'Correct what `detail` names, and call again.'],
  not_configured: ['A setting is missing or cannot be used.', 'Correct the setting that the message names.'],
  credentials_missing: [
    'The operation needs a secret that is not there. Nothing was sent.',
    'Run `heddle login`, or set the names in the hint.',
  ],
  unauthorized: [
    'The service does not accept the credentials.',
    'Check them with `heddle doctor`; run `heddle login`.',
  ],
  forbidden: ['The credentials are good, but not for this.', 'Use another project or account.'],
  not_found: ['What was named does not exist there.', 'Look it up: `list_queues`, `list_objects`.'],
  validation_failed: ['The service found a fault in the input.', 'Correct what `detail` names.'],
  invalid_request: ['The service refused the request for another reason.', 'The message quotes the reason.'],
  conflict: ['The state at the service is another than the call assumes.', 'Read it again, then decide.'],
  unsupported: ['The service in use does not have this operation.', 'Use another way, or another service.'],
  too_large: ['A request or a result is larger than allowed.', 'Ask for less, or raise `HEDDLE_MAX_RESULT_CHARS`.'],
  quota_exceeded: ['The quota of the account is used up.', 'Wait for its renewal, or raise it at the service.'],
  rate_limited: ['Too many requests at once or in a time.', 'Wait `retry_after_ms`, then call again.'],
  service_unavailable: ['The service cannot answer for now.', 'Call again later.'],
  timeout: ['The call took longer than it may.', 'Call again, or raise `HEDDLE_TIMEOUT_MS`.'],
  network: ['The service could not be reached, or the connection broke.', '`heddle doctor` says which layer fails.'],
  bad_response: ['Something answered that is not the service: HTML, or JSON of another form.', 'Check the base URL.'],
  cancelled: ['The client ended the call. The request at the service was aborted.', 'Nothing.'],
  internal: ['A fault of heddle or of the service.', 'Report it with the message.'],
};

/** docs/errors.md: every code that a tool can answer with. */
export function docsErrors(): string {
  return `${heading('Errors')}
A tool that fails answers with \`isError: true\`. The text is a sentence that says what happened and what to do next, and
then one line of JSON. \`heddle call\` prints that line on stdout and ends with exit code 1:

\`\`\`console run
$ heddle call query_queue_items '{"queue": "support-triage"}' || echo "exit code $?"
{"code":"invalid_arguments",…}
exit code 1
\`\`\`

| Member | Meaning |
| --- | --- |
| \`code\` | one of the codes below |
| \`message\` | what happened, in one sentence |
| \`hint\` | the next step; never holds text of the service |
| \`status\` | HTTP status of the service's answer, where there was one |
| \`detail\` | list of \`{loc, msg, type}\`: where the input is at fault, for local checks and those of the service alike |
| \`retryable\` | whether the same call, unchanged, may succeed later |
| \`retry_after_ms\` | how long to wait before that, where the service said so |
| \`partial_text\` | text of a streamed reply that had arrived before the failure |

${table(
  ['Code', 'What happened', 'What to do'],
  errorCodes.map((name) => [code(name), ...meanings[name]]),
)}

Exit codes of the command: 0 done, 1 the operation failed, 2 wrong usage or configuration.
`;
}
