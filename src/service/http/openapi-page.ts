import type { OpenApiDocument, Operation, Schema } from './openapi.ts';

/** Sent with the page: it has no script, loads nothing, and cannot be framed. */
export const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
};

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --strong: #0b6e5f; }
@media (prefers-color-scheme: dark) { :root { --strong: #5fd3bf; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; }
a { color: var(--strong); }
code { font: 0.9em ui-monospace, monospace; }
article, section.schema { border: 1px solid var(--line); border-radius: 6px; padding: 0.5rem 1rem; margin: 1rem 0; overflow-x: auto; }
h3 { margin: 0.3rem 0; font-size: 1.05rem; }
.method { display: inline-block; min-width: 3.2rem; font-weight: 700; color: var(--strong); }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.6rem 0.2rem 0; border-bottom: 1px solid var(--line); }
p { margin: 0.4rem 0; }
`;

/** The document as a page for people: one file, readable without network and without script. */
export function openApiPage(document: OpenApiDocument): string {
  const { info, tags, paths, components } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const groups = tags.map(({ name, description }) => {
    const listed = operations.filter(({ operation }) => operation.tags.includes(name));
    return `<h2 id="${text(name)}">${text(name)}</h2><p>${text(description)}</p>${listed
      .map(({ path, method, operation }) => operationHtml(path, method, operation, components.responses))
      .join('')}`;
  });
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<section class="schema" id="schema-${text(name)}"><h3>${text(name)}</h3>${schemaHtml(schema)}</section>`,
  );
  const nav = tags.map(({ name }) => `<a href="#${text(name)}">${text(name)}</a>`).join(' · ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(info.title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${text(info.title)} <small>${text(info.version)}</small></h1>
<p>${text(info.summary)} ${text(info.description)}</p>
<p>The same as a document for programs: <a href="openapi.json">openapi.json</a> (OpenAPI ${text(document.openapi)}).</p>
<nav>${nav} · <a href="#Schemas">Schemas</a></nav>
<main>
${groups.join('\n')}
<h2 id="Schemas">Schemas</h2>
${schemas.join('\n')}
</main>
</body>
</html>
`;
}

function operationHtml(path: string, method: string, operation: Operation, shared: Record<string, Schema>): string {
  const { operationId, summary, description, security, parameters, requestBody, responses } = operation;
  const schemes = security.flatMap((scheme) => Object.keys(scheme)).join(', ');
  const rows = (parameters ?? []).map(({ name, in: where, required, schema, description: about }) =>
    row([`<code>${text(name)}</code>`, `${where}${required ? ', required' : ''}`, typeHtml(schema), text(about ?? '')]),
  );
  const body = requestBody && contentHtml(requestBody.content);
  const answers = Object.entries(responses).map(([status, response]) => {
    const { description: about, content } = ('$ref' in response ? shared[nameOf(response.$ref)] : response) as Exclude<
      Operation['responses'][string],
      { $ref: string }
    >;
    return row([status, text(about), content ? contentHtml(content) : '']);
  });
  return `<article id="${text(operationId)}">
<h3><span class="method">${text(method.toUpperCase())}</span> <code>${text(path)}</code></h3>
<p><strong>${text(summary)}.</strong> ${text(description ?? '')}</p>
<p>Account: ${text(schemes)}.${body ? ` Body: ${body}` : ''}</p>
${rows.length > 0 ? `<table>${rows.join('')}</table>` : ''}
<table>${answers.join('')}</table>
</article>`;
}

function contentHtml(content: Record<string, { schema: Schema }>): string {
  return Object.entries(content)
    .map(([type, { schema }]) => {
      const about = typeof schema.description === 'string' ? ` ${text(schema.description)}` : '';
      return `${typeHtml(schema)} <small>${text(type)}</small>${about}`;
    })
    .join('<br>');
}

function schemaHtml(schema: Schema): string {
  const { properties, required = [], additionalProperties } = schema;
  if (properties === undefined) return `<p>${typeHtml(schema)}</p>`;
  const rows = Object.entries(properties as Record<string, Schema>).map(([name, member]) =>
    row([
      `<code>${text(name)}</code>`,
      `${typeHtml(member)}${(required as string[]).includes(name) ? ', required' : ''}`,
      text(String(member.description ?? '')),
    ]),
  );
  const more = additionalProperties === false ? 'No other members.' : 'Other members may be there.';
  return `${rows.length > 0 ? `<table>${rows.join('')}</table>` : ''}<p><small>${more}</small></p>`;
}

/** The type in words. */
function typeHtml(schema: Schema): string {
  if (typeof schema.$ref === 'string') {
    const name = text(nameOf(schema.$ref));
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `<code>${text(String(value))}</code>`).join(' or ');
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map((one) => typeHtml(one as Schema)).join(' or ');
  if (Array.isArray(schema.type)) return schema.type.map((type) => text(String(type))).join(' or ');
  if (schema.type === 'array') return `list of ${typeHtml((schema.items ?? {}) as Schema)}`;
  if (schema.type === 'object' && schema.properties) return schemaHtml(schema);
  return schema.type === undefined ? 'anything' : text(String(schema.type));
}

function nameOf(reference: string): string {
  return reference.split('/').at(-1)!;
}

function row(cells: string[]): string {
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

function text(plain: string): string {
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
