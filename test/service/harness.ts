/** A service on a store of its own, and requests to it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { MailWorld } from '../../src/service/mail-world/world.ts';
import type { Plan, Region } from '../../src/service/keys.ts';
import { createKey } from '../../src/service/keys.ts';
import { startService, type RunningService, type ServiceOptions } from '../../src/service/start-service.ts';
import { loadCompanies, loadPeople } from '../../src/service/store/load.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { suppress } from '../../src/service/store/suppress.ts';
import type { Store } from '../../src/service/store/store.ts';
import type { ServiceLog } from '../../src/service/watch/log.ts';
import { cleanUp } from '../support/clean-up.ts';
import { checkAnswer } from './answers.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

export interface Requests {
  /** What comes back must be as the published document has it. */
  request(path: string, init?: RequestInit): Promise<Reply>;
  /** POST of a JSON body; `key` null: without authorization. */
  post(path: string, body: unknown, options?: { key?: string | null; headers?: Record<string, string> }): Promise<Reply>;
}

export interface Served extends RunningService, Requests {
  readonly store: string;
}

/** One domain with one mailbox; of anybody else its server will not say. */
const WORLD: MailWorld = {
  hosts: { 'mx.acme.example': {} },
  domains: { 'acme.example': { mx: [[10, 'mx.acme.example']], mailboxes: ['hired'], stranger: '252 2.5.0 cannot say' } },
};

/** Accepted by every service that the harness starts; unlimited unless `rpm` is given. */
export const KEY = 'embedded-test-key';

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-service-'));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A store with one company and a few people, each there for something. */
export async function makeStore(fill: (store: Store) => void = () => undefined): Promise<string> {
  const path = join(await temporaryFolder(), 'store.sqlite');
  const store = openStore(path);
  suppress(store, ['gone@acme.example'], 0);
  loadCompanies(store, [{ id: 'co_1', name: 'Acme', domain: 'acme.example', employees: 42, revenue: '$12M', stack: ['PostgreSQL'], accepts_all: false, email_pattern: '{first}.{last}' }], 'test');
  loadPeople(store, [
    { id: 'pe_1', email: 'jane.doe@acme.example', name: 'Jane Doe', title: 'CTO', email_status: 'verified', email_verified_at: '2024-03-01T00:00:00Z', company_domain: 'acme.example' },
    { id: 'pe_2', email: 'max.past@acme.example', name: 'Max Past', email_status: 'bounced', email_verified_at: '2024-03-01T00:00:00Z', company_domain: 'acme.example' },
    { id: 'pe_3', email: 'solo@nowhere.example', name: 'Søren Solo', email_status: 'unverified' },
  ], 'test');
  fill(store);
  store.close();
  return path;
}

export async function makeKey(store: string, plan: Plan, more: { credits?: number; region?: Region } = {}): Promise<string> {
  const open = openStore(store);
  try {
    return createKey(open, { plan, ...more }).key;
  } finally {
    open.close();
  }
}

export async function serveStore(options: Partial<Omit<ServiceOptions, 'store'>> & { rpm?: number | null; store?: string } = {}): Promise<Served> {
  const { rpm = null, ...rest } = options;
  const store = options.store ?? (await makeStore());
  const bugs: unknown[] = [];
  const log: ServiceLog = { write: (_level, entry) => void (entry['event'] === 'bug' && bugs.push(entry)), line: () => undefined, takes: () => false };
  const service = await startService({ embeddedKey: { key: KEY, rpm }, ...(rest.sample === true ? {} : { mail: { world: WORLD } }), log, ...rest, store });
  cleanUp(async () => {
    await service.close();
    // Whatever was asked of it: what nobody expected is told of nowhere else.
    expect(bugs).toEqual([]);
  });
  return { ...service, store, ...requestsTo(service.url) };
}

/** Requests to a service that is there. */
export function requestsTo(url: string): Requests {
  const request = async (path: string, init: RequestInit = {}): Promise<Reply> => {
    const response = await fetch(url + path, init);
    const text = await response.text();
    let json: Record<string, unknown> = {};
    try {
      json = JSON.parse(text) as Record<string, unknown>;
    } catch {
      // Not every answer is JSON, such as that to HEAD.
    }
    checkAnswer(init.method ?? 'GET', path, { status: response.status, headers: response.headers, text });
    return { status: response.status, headers: response.headers, text, json };
  };
  return {
    request,
    post(path, body, { key = KEY, headers = {} } = {}) {
      return request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
      });
    },
  };
}
