import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../src/contract/endpoints.ts';
import { openApiDocument } from '../../../src/service/http/openapi.ts';
import { startServiceProcess } from '../../support/service-process.ts';

describe('openApiDocument', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    expect(await validator.validate(JSON.parse(JSON.stringify(openApiDocument())))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('lists every endpoint of the contract, and the service serves it without an account', async () => {
    const { url } = await startServiceProcess();
    const response = await fetch(`${url}/openapi.json`);
    expect(response.headers.get('content-type')).toContain('application/json');
    const document = (await response.json()) as ReturnType<typeof openApiDocument>;
    expect(document).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
    const operationIds = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(operationIds.sort()).toEqual(Object.keys(endpoints).sort());
  });

  it('describes operations that exist in the service and require an account', async () => {
    const { url } = await startServiceProcess();
    for (const [path, methods] of Object.entries(openApiDocument().paths)) {
      for (const method of Object.keys(methods)) {
        const filledPath = path.replaceAll(/\{\w+\}/g, 'x');
        const { status } = await fetch(`${url}${filledPath}`, { method: method.toUpperCase() });
        expect([`${method} ${path}`, status]).toEqual([`${method} ${path}`, 401]);
      }
    }
  });
});
