import { type ErrorCode, errorCodes } from '../../src/core/errors.ts';
import { code, heading, table } from './markdown.ts';

/** The meaning of each code and the next step. */
const meanings: Record<ErrorCode, [meaning: string, nextStep: string]> = {
  invalid_arguments: ['The arguments are invalid. Nothing was sent.', 'Correct what `detail` lists and call again.'],
  not_configured: ['A setting is missing or invalid.', 'Correct the setting that the message names.'],
  credentials_missing: [
    'The operation needs a secret that is not configured. Nothing was sent.',
    'Run `heddle login`, or set the variables that the hint names.',
  ],
  unauthorized: ['The service rejected the credentials.', 'Check them with `heddle doctor`, or run `heddle login`.'],
  forbidden: ['The credentials are valid but do not allow the operation.', 'Use another project or account.'],
  not_found: ['The object that the call names does not exist.', 'Look it up with `list_queues` or `list_objects`.'],
  validation_failed: ['The service found the input invalid.', 'Correct what `detail` lists.'],
  invalid_request: [
    'The service refused the request for another reason.',
    'Read the reason, which the message quotes.',
  ],
  conflict: ['The state at the service is not the one that the call expects.', 'Read the object again, then decide.'],
  unsupported: ['The service does not have this operation.', 'Use another tool or another service.'],
  too_large: ['A request or a result exceeds the size limit.', 'Ask for less, or raise `HEDDLE_MAX_RESULT_CHARS`.'],
  quota_exceeded: ['The quota of the account is used up.', 'Wait until it renews, or raise it at the service.'],
  rate_limited: ['There are too many requests.', 'Wait for `retry_after_ms`, then call again.'],
  service_unavailable: ['The service cannot respond at the moment.', 'Call again later.'],
  timeout: [
    'The call took longer than allowed.',
    'Call again, or raise `HEDDLE_TIMEOUT_MS`, or `HEDDLE_INFERENCE_TIMEOUT_MS` for inference.',
  ],
  network: [
    'The service could not be reached, or the connection broke.',
    'Run `heddle doctor` to see which layer fails.',
  ],
  bad_response: [
    'The response is not one of the service: HTML, or JSON of another shape.',
    'Check the base URL, or for inference the inference URL.',
  ],
  cancelled: ['The client cancelled the call, or the user declined it.', 'Ask the user what they want.'],
  internal: ['heddle or the service failed unexpectedly.', 'Report it with the error message.'],
};

/** Returns docs/errors.md: every error code that a tool can return. */
export function docsErrors(): string {
  return `${heading('Errors')}
A tool that fails returns \`isError: true\`. Its text has three lines: what happened, what to do next, and the other members as
JSON, in which an entry of \`detail\` has no \`msg\` that the first line says already. Programs find \`code\`, \`message\`, \`hint\`,
\`status\`, \`retryable\` and \`retry_after_ms\` in the result's \`_meta\`, under \`io.github.heddle-mcp/error\`. \`heddle call\` prints the sentences
to stderr, with \`--json\` all members as one line of JSON, and exits with code 1; stdout stays empty:

\`\`\`console run
$ heddle call query_queue_items '{"queue": "support-triage"}' || echo "exit code $?"
heddle: Invalid arguments for query_queue_items: …
…
exit code 1
$ heddle call --json query_queue_items '{"queue": "support-triage"}' || echo "exit code $?"
{"code":"invalid_arguments",…}
exit code 1
\`\`\`

| Member | Meaning |
| --- | --- |
| \`code\` | one of the codes below |
| \`message\` | what happened, in one sentence |
| \`hint\` | the next step; of the service it contains only names and ids |
| \`status\` | HTTP status of the service's response, if there was one |
| \`detail\` | list of \`{loc, msg, type}\`, one for each fault in the input, whether heddle or the service found it |
| \`retryable\` | whether the same call may succeed later |
| \`retry_after_ms\` | how long to wait first, if the service said so |
| \`partial_text\` | text of a streamed reply that arrived before the failure |

${table(
  ['Code', 'What happened', 'What to do'],
  errorCodes.map((name) => [code(name), ...meanings[name]]),
)}

Exit codes: 0 all that was asked was done, 1 it failed in whole or in part, 2 wrong usage or configuration. A change that some items
refused, or that did not reach all of them, is 1, and so is a question that you answered with no.
`;
}
