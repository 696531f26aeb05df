import { afterEach, describe, expect, test } from 'vitest';
import type { StandIn } from './stand-in.ts';
import { personOf } from './world.ts';
import { startZeroBounce, type ZeroBounceOptions } from './zerobounce.ts';

let vendor: StandIn | undefined;

async function start(options: ZeroBounceOptions = {}): Promise<StandIn> {
  vendor = await startZeroBounce(options);
  return vendor;
}

afterEach(() => vendor?.close());

interface Row {
  readonly address: string;
  readonly status: string;
  readonly sub_status: string;
}

interface Batch {
  readonly email_batch: readonly Row[];
  readonly errors: readonly unknown[];
}

async function validate(query: Record<string, string>): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${vendor?.url}/v2/validate?${new URLSearchParams(query).toString()}`);
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? (JSON.parse(text) as unknown) : text };
}

async function post(body: unknown, type = 'application/json'): Promise<{ status: number; body: Batch }> {
  const response = await fetch(`${vendor?.url}/v2/validatebatch`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: (text.startsWith('{') ? JSON.parse(text) : text) as Batch };
}

const batchOf = (emails: readonly string[]): object => ({
  api_key: 'test-key',
  email_batch: emails.map((email_address) => ({ email_address, ip_address: null })),
});
const one = (email: string): Record<string, string> => ({ api_key: 'test-key', email, ip_address: '' });
const emails = (count: number): string[] => Array.from({ length: count }, (_, index) => personOf(index).email);

describe('ZeroBounce stand-in', () => {
  test('each verdict has its status, and an unknown result costs nothing', async () => {
    const { counts } = await start();
    const of = async (email: string): Promise<unknown> => (await validate(one(email))).body;
    expect(await of(personOf(0).email)).toMatchObject({ address: personOf(0).email, status: 'valid', sub_status: '' });
    expect(await of(personOf(3).email)).toMatchObject({ status: 'invalid', sub_status: 'mailbox_not_found' });
    expect(await of(personOf(5).email)).toMatchObject({ status: 'catch-all' });
    expect(counts.charged).toBe(3);
    expect(await of(personOf(7).email)).toMatchObject({ status: 'unknown', sub_status: 'greylisted' });
    expect(await of('nobody@nowhere.example')).toMatchObject({ status: 'unknown' });
    expect(await of('disposable@example.com')).toMatchObject({ status: 'do_not_mail', sub_status: 'disposable' });
    expect(await of('spamtrap@example.com')).toMatchObject({ status: 'spamtrap' });
    expect(counts).toMatchObject({ charged: 3, missed: 1 });
    expect(await of('no address')).toMatchObject({ status: 'invalid', sub_status: 'failed_syntax_check', domain: null });
  });

  test('an address is charged again in each request and each entry', async () => {
    const { paidFor } = await start();
    await validate(one(personOf(0).email));
    await post(batchOf([personOf(0).email, personOf(0).email]));
    expect([...paidFor]).toEqual([[`verify ${personOf(0).email}`, 3]]);
  });

  test('a batch answers every entry in order, and names entries without an address', async () => {
    const { counts } = await start();
    const { status, body } = await post({
      ...batchOf(emails(4)),
      email_batch: [{ email_address: emails(4)[3] }, {}, { email_address: 'a@b.c' }],
    });
    expect(status).toBe(200);
    expect(body.email_batch.map(({ address }) => address)).toEqual([emails(4)[3], 'a@b.c']);
    expect(body.errors).toEqual([{ error: 'Missing email_batch key: email_address.', email_address: 'unknown' }]);
    expect(counts).toMatchObject({ requests: 1, lookups: 2, charged: 1 });
  });

  test('a batch of 101 is refused whole, and the option lifts the limit to 200', async () => {
    const { counts } = await start();
    expect((await post(batchOf(emails(100)))).body.email_batch).toHaveLength(100);
    const { charged } = counts;
    const refused = await post(batchOf(emails(101)));
    expect(refused).toMatchObject({ status: 400, body: { email_batch: [], errors: [{ email_address: 'all' }] } });
    expect(counts.charged).toBe(charged);
    await vendor?.close();
    await start({ maxBatch: 200 });
    expect((await post(batchOf(emails(200)))).status).toBe(200);
  });

  test('the batch after the thirtieth of a minute is 429 and blocks batches for ten minutes', async () => {
    let now = 0;
    const { counts } = await start({ clock: () => now });
    for (let request = 0; request < 30; request++) expect((await post(batchOf(emails(1)))).status).toBe(200);
    expect((await post(batchOf(emails(1)))).status).toBe(429);
    now += 599_999;
    expect((await post(batchOf(emails(1)))).status).toBe(429);
    expect(counts.refused429).toBe(2);
    expect((await validate(one(emails(1)[0] ?? ''))).status).toBe(200);
    now += 1;
    expect((await post(batchOf(emails(1)))).status).toBe(200);
  });

  test('a shortened window shortens the block in the same measure', async () => {
    let now = 0;
    await start({ clock: () => now, windows: () => [{ name: 'second', limit: 1, ms: 100 }] });
    expect((await validate(one(emails(1)[0] ?? ''))).status).toBe(200);
    expect((await validate(one(emails(1)[0] ?? ''))).status).toBe(429);
    now += 599;
    expect((await validate(one(emails(1)[0] ?? ''))).status).toBe(429);
    now += 1;
    expect((await validate(one(emails(1)[0] ?? ''))).status).toBe(200);
  });

  test('a missing parameter and a wrong type are 400, a wrong method is 405, an unknown path is 404', async () => {
    await start();
    expect(await validate({ email: 'a@b.c', ip_address: '' })).toEqual({ status: 400, body: { error: 'Missing parameter: api_key.' } });
    expect(await validate({ api_key: 'test-key', ip_address: '' })).toEqual({ status: 400, body: { error: 'Missing parameter: email.' } });
    expect((await validate({ api_key: 'test-key', email: 'a@b.c' })).status).toBe(400);
    expect((await validate({ ...one('a@b.c'), timeout: '61' })).status).toBe(400);
    expect(await post({ api_key: 'test-key' })).toEqual({ status: 400, body: { Message: 'Missing parameter: email_batch.' } });
    expect((await post(batchOf([]))).status).toBe(400);
    expect((await post(batchOf(emails(1)), 'text/plain')).status).toBe(400);
    expect((await fetch(`${vendor?.url}/v2/validatebatch`)).status).toBe(405);
    expect((await fetch(`${vendor?.url}/v2/other`)).status).toBe(404);
  });

  test('an unknown key and a spent balance are errors within a 200', async () => {
    const { counts } = await start({ credits: 2 });
    const error = 'Invalid API key or your account ran out of credits';
    expect(await validate({ ...one('a@b.c'), api_key: 'other' })).toEqual({ status: 200, body: { error } });
    const refused = { status: 200, body: { email_batch: [], errors: [{ error, email_address: 'all' }] } };
    expect(await post({ ...batchOf(emails(1)), api_key: 'other' })).toEqual(refused);
    expect(await post(batchOf(emails(3)))).toEqual(refused);
    expect((await post(batchOf(emails(2)))).body.errors).toEqual([]);
    expect(await validate(one(emails(1)[0] ?? ''))).toEqual({ status: 200, body: { error } });
    expect(counts).toMatchObject({ charged: 2, refusedOther: 4 });
    const credits = async (key: string): Promise<unknown> => (await fetch(`${vendor?.url}/v2/getcredits?api_key=${key}`)).json();
    expect(await credits('test-key')).toEqual({ Credits: 0 });
    expect(await credits('other')).toEqual({ Credits: -1 });
  });

  test('a hundred bad requests within a minute block every route for an hour', async () => {
    let now = 0;
    await start({ clock: () => now });
    for (let request = 0; request < 100; request++) expect((await validate({ api_key: 'test-key' })).status).toBe(400);
    expect((await validate(one(emails(1)[0] ?? ''))).status).toBe(429);
    now += 3_600_000;
    expect((await validate(one(emails(1)[0] ?? ''))).status).toBe(200);
  });
});
