/** A service on a store of its own, and requests to it. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { MailWorld } from '../../src/service/sample/mail-world/world.ts';
import type { PlanName, Region } from '../../src/service/accounts/keys.ts';
import { createKey } from '../../src/service/accounts/keys.ts';
import { startService, type RunningService, type ServiceOptions } from '../../src/service/app/start-service.ts';
import { loadCompanies, loadPeople } from '../../src/service/store/rows/load.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { booksOf } from '../../src/service/store/owner/store-name.ts';
import { suppress } from '../../src/service/erasure/suppress.ts';
import type { Store } from '../../src/service/store/store.ts';
import type { ServiceLog } from '../../src/service/monitoring/log.ts';
import { cleanUp } from '../support/clean-up.ts';
import { checkAnswer } from './answers.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

export interface Requests {
  /** Fails when the answer differs from the published document. */
  request(path: string, init?: RequestInit): Promise<Reply>;
  /** POST of a JSON body. With `key` null, the request has no authorization. */
  post(path: string, body: unknown, options?: { key?: string | null; headers?: Record<string, string> }): Promise<Reply>;
}

export interface Served extends RunningService, Requests {
  readonly store: string;
}

/** One domain with one mailbox; its server gives no answer about other mailboxes. */
const WORLD: MailWorld = {
  hosts: { 'mx.acme.example': {} },
  domains: { 'acme.example': { mx: [[10, 'mx.acme.example']], mailboxes: ['hired'], stranger: '252 2.5.0 cannot say' } },
};

/** Accepted by every service of the harness; unlimited unless `rpm` is given. */
export const KEY = 'embedded-test-key';

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-service-'));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A store with one company and a few people, each for a certain test. */
export async function makeStore(fill?: (store: Store) => void): Promise<string> {
  const path = await copyStore(fillStore);
  if (fill === undefined) return path;
  const store = openStore(path);
  fill(store);
  store.close();
  return path;
}

/** Store files by their fill function. Creating tables takes 50 ms, so each worker does it once and copies the file. */
const made = new Map<(store: Store) => void, Promise<readonly Uint8Array[]>>();

/** The path of a new store with the rows of `fill`. */
export async function copyStore(fill: (store: Store) => void): Promise<string> {
  const bytes = made.get(fill) ?? makeFile(fill);
  made.set(fill, bytes);
  const path = join(await temporaryFolder(), 'store.sqlite');
  for (const [at, file] of [path, booksOf(path)].entries()) await writeFile(file, (await bytes)[at] ?? '', { mode: 0o600 });
  return path;
}

async function makeFile(fill: (store: Store) => void): Promise<readonly Uint8Array[]> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-service-'));
  const path = join(folder, 'store.sqlite');
  const store = openStore(path);
  fill(store);
  store.close();
  const bytes = await Promise.all([path, booksOf(path)].map((file) => readFile(file)));
  await rm(folder, { recursive: true });
  return bytes;
}

function fillStore(store: Store): void {
  suppress(store, ['gone@acme.example'], 0);
  loadCompanies(
    store,
    [
      {
        id: 'co_1',
        name: 'Acme',
        domain: 'acme.example',
        employees: 42,
        revenue: '$12M',
        stack: ['PostgreSQL'],
        accepts_all: false,
        email_pattern: '{first}.{last}',
      },
    ],
    'test',
  );
  loadPeople(
    store,
    [
      {
        id: 'pe_1',
        email: 'jane.doe@acme.example',
        name: 'Jane Doe',
        title: 'CTO',
        email_status: 'verified',
        email_verified_at: '2024-03-01T00:00:00Z',
        company_domain: 'acme.example',
      },
      {
        id: 'pe_2',
        email: 'max.past@acme.example',
        name: 'Max Past',
        email_status: 'bounced',
        email_verified_at: '2024-03-01T00:00:00Z',
        company_domain: 'acme.example',
      },
      { id: 'pe_3', email: 'solo@nowhere.example', name: 'Søren Solo', email_status: 'unverified' },
    ],
    'test',
  );
}

export async function makeKey(store: string, plan: PlanName, more: { credits?: number; region?: Region } = {}): Promise<string> {
  const open = openStore(store);
  try {
    return createKey(open, { plan, ...more }).key;
  } finally {
    open.close();
  }
}

export async function serveStore(
  options: Partial<Omit<ServiceOptions, 'store'>> & { rpm?: number | null; store?: string } = {},
): Promise<Served> {
  const { rpm = null, ...rest } = options;
  const store = options.store ?? (await makeStore());
  const bugs: unknown[] = [];
  const log: ServiceLog = {
    write: (_level, entry) => void (entry['event'] === 'bug' && bugs.push(entry)),
    line: () => undefined,
    takes: () => false,
  };
  const service = await startService({
    embeddedKey: { key: KEY, rpm },
    ...(rest.sample === true ? {} : { mail: { world: WORLD } }),
    log,
    ...rest,
    store,
  });
  cleanUp(async () => {
    await service.close();
    // An unexpected error shows in the log alone.
    expect(bugs).toEqual([]);
  });
  return { ...service, store, ...requestsTo(service.url) };
}

/** Requests to a running service. */
export function requestsTo(url: string): Requests {
  const request = async (path: string, init: RequestInit = {}): Promise<Reply> => {
    const response = await fetch(url + path, init);
    const text = await response.text();
    let json: Record<string, unknown> = {};
    try {
      json = JSON.parse(text) as Record<string, unknown>;
    } catch {
      // Some answers are not JSON, such as those to HEAD.
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
