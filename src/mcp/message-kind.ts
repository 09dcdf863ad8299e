import type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest } from '@modelcontextprotocol/server';
import { isJsonObject } from '../core/json/json-object.ts';

const relatedTask = 'io.modelcontextprotocol/related-task';

/** Returns whether an object has these members at most. */
export function hasOnly(value: object, names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name));
}

/** Returns whether a parsed JSON value is a request, as the SDK's `isJSONRPCRequest` does, which needs all its schemas for it. */
export function isRequest(value: unknown): value is JSONRPCRequest {
  return (
    isJsonObject(value) && hasOnly(value, ['jsonrpc', 'id', 'method', 'params']) && isId(value.id) && isCall(value)
  );
}

/** Returns whether a parsed JSON value is a JSON-RPC 2.0 message by the rules of MCP, as the SDK's own checks do. */
export function isMessage(value: unknown): value is JSONRPCMessage {
  return isRequest(value) || isNotification(value) || isResponse(value);
}

function isNotification(value: unknown): value is JSONRPCNotification {
  return isJsonObject(value) && hasOnly(value, ['jsonrpc', 'method', 'params']) && isCall(value);
}

function isResponse(value: unknown): boolean {
  if (!isJsonObject(value) || value.jsonrpc !== '2.0') return false;
  const { id, result, error } = value;
  if (hasOnly(value, ['jsonrpc', 'id', 'result'])) {
    return isId(id) && isJsonObject(result) && (result._meta === undefined || isJsonObject(result._meta));
  }
  return hasOnly(value, ['jsonrpc', 'id', 'error']) && (id === undefined || isId(id)) && isFault(error);
}

function isFault(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { code, message } = value;
  return Number.isSafeInteger(code) && typeof message === 'string';
}

function isCall({ jsonrpc, method, params }: Record<string, unknown>): boolean {
  if (jsonrpc !== '2.0' || typeof method !== 'string') return false;
  if (params === undefined) return true;
  return isJsonObject(params) && (params._meta === undefined || isMeta(params._meta));
}

function isMeta(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { progressToken, [relatedTask]: task } = value;
  return (
    (progressToken === undefined || isId(progressToken)) &&
    (task === undefined || (isJsonObject(task) && typeof task.taskId === 'string'))
  );
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || Number.isSafeInteger(value);
}
