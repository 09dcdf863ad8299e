const entities = new Map(Object.entries({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }));

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => entities.get(sign)!);
}

/**
 * Returns the page that a link of an SDK leads to. It names the project, and the call if the link has one, and says how to read
 * them. It needs no account and contains nothing that is stored.
 */
export function linkPage(project: string, callId?: string): Response {
  const tool = callId === undefined ? 'query_calls' : 'read_call';
  const args = { project_id: project, ...(callId !== undefined && { call_id: callId }) };
  const subject = callId === undefined ? `Project ${project}` : `Call ${callId} of project ${project}`;
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escaped(subject)}</title>
<h1>${escaped(subject)}</h1>
<p>heddle keeps ${callId === undefined ? 'its calls' : 'this call'}. To read ${callId === undefined ? 'them' : 'it'}, ask an agent that has heddle for the tool <code>${tool}</code>, or enter in a shell:</p>
<pre>heddle call ${tool} ${escaped(shellWord(JSON.stringify(args)))}</pre>
<p>To judge calls in a browser, add them to a queue and enter <code>heddle board</code>.</p>
</html>
`;
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
  };
  return new Response(html, { headers });
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
