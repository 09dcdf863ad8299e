import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/contract/endpoints.ts';
import { type OpenApiDocument, openApiDocument } from '../../../src/service/http/openapi.ts';
import { startServiceProcess } from '../../support/service-process.ts';

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  expect(await validator.validate(JSON.parse(JSON.stringify(openApiDocument())))).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
});

test('the service serves the document without an account, and it lists every endpoint of the contract', async () => {
  const { url } = await startServiceProcess();
  const answer = await fetch(`${url}/openapi.json`);
  expect(answer.headers.get('content-type')).toContain('application/json');
  const document = (await answer.json()) as OpenApiDocument;
  expect(document).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
  const named = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map((one) => one.operationId),
  );
  expect(named.sort()).toEqual(Object.keys(endpoints).sort());
});

test('every operation of the document is there, and wants an account', async () => {
  const { url } = await startServiceProcess();
  for (const [path, methods] of Object.entries(openApiDocument().paths)) {
    for (const method of Object.keys(methods)) {
      const filled = path.replaceAll(/\{\w+\}/g, 'x');
      const { status } = await fetch(`${url}${filled}`, { method: method.toUpperCase() });
      expect([`${method} ${path}`, status]).toEqual([`${method} ${path}`, 401]);
    }
  }
});
