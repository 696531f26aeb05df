/** A service in development, with calls of the webhook API. */
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { KEY, serveStore, type Reply, type Served } from '../harness.ts';

export interface Hooked extends Served {
  call(method: string, path: string, body?: unknown, key?: string): Promise<Reply>;
  /** A POST with an Idempotency-Key. */
  once(idempotencyKey: string, path: string, body?: unknown, key?: string): Promise<Reply>;
  /** Creates a webhook. Returns its id and secret. */
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

/** Writes to the store as another process does. */
export async function writeElsewhere(service: Hooked, work: (store: Store) => unknown): Promise<void> {
  const store = openStore(service.store);
  await work(store);
  store.close();
}

export function signalOf(id: string, type: string, domain: string, more: SparseRecord = {}): SparseRecord {
  return { id, type, domain, occurred_at: '2026-01-01', ...more };
}
