/** A service in development, and calls about its webhooks. */
import { KEY, serveStore, type Reply, type Served } from '../harness.ts';

export interface Hooked extends Served {
  call(method: string, path: string, body?: unknown, key?: string): Promise<Reply>;
  /** A POST with an Idempotency-Key. */
  once(idempotencyKey: string, path: string, body?: unknown, key?: string): Promise<Reply>;
  /** Makes a webhook; returns its id and secret. */
  subscribe(wanted: Readonly<Record<string, unknown>>, key?: string): Promise<{ readonly id: string; readonly secret: string }>;
}

export async function serveHooked(options: Parameters<typeof serveStore>[0] = {}): Promise<Hooked> {
  const service = await serveStore({ development: true, ...options });
  const send = (method: string, path: string, body: unknown, key = KEY, more: Readonly<Record<string, string>> = {}): Promise<Reply> =>
    service.request(path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...more, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const call: Hooked['call'] = (method, path, body, key) => send(method, path, body, key);
  return {
    ...service,
    call,
    once: (idempotencyKey, path, body, key) => send('POST', path, body, key, { 'idempotency-key': idempotencyKey }),
    async subscribe(wanted, key) {
      const { status, json } = await call('POST', '/v1/webhooks', wanted, key);
      if (status !== 201) throw new Error(JSON.stringify(json));
      return { id: String(json['id']), secret: String(json['secret']) };
    },
  };
}
