import { describe, expect, it } from 'vitest';
import { AnswerRows, textsOf } from '../../../src/service/calls/answer-rows.ts';
import { Idempotency } from '../../../src/service/calls/idempotency.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { emptyStore } from '../loading.ts';
import { makeStore, serveStore, type Reply } from '../harness.ts';

describe('stored answers', () => {
  it('an erasure deletes stored answers that name the person, written or not, and their replays get 451', async () => {
    const path = await makeStore();
    const service = await serveStore({ store: path });
    const verify = (key: string, email: string): Promise<Reply> =>
      service.post('/v1/emails/verify', { emails: [email] }, { headers: { 'idempotency-key': key } });
    const replayed = async (key: string, email: string): Promise<string | null> =>
      (await verify(key, email)).headers.get('idempotency-replayed');
    const long = { emails: ['Jane.Doe@acme.example', ...Array.from({ length: 5 }, (_, n) => `n${n}@acme.example`)] };
    await verify('short', 'JANE.DOE@acme.example');
    await verify('other', 'max.past@acme.example');
    await service.post('/v1/emails/verify', long, { headers: { 'idempotency-key': 'long' } });
    expect(await replayed('short', 'JANE.DOE@acme.example')).toBe('true');
    const store = openStore(path);
    await expect.poll(() => store.books.prepare('SELECT count(block) AS n FROM answers').get()).toEqual({ n: 3 });
    const texts = (): string =>
      store.books
        .prepare('SELECT texts FROM answer_blocks')
        .all()
        .map((row) => Buffer.from(textsOf(row)).toString())
        .join('');
    expect(texts()).toMatch(/jane\.doe@/i);
    suppress(store, ['jane.doe@acme.example'], Date.now());
    expect(store.books.prepare('SELECT count(block) AS n FROM answers').get()).toEqual({ n: 1 });
    expect(texts()).not.toMatch(/jane\.doe@/i);
    expect(await replayed('other', 'max.past@acme.example')).toBe('true');
    expect((await verify('short', 'JANE.DOE@acme.example')).json['code']).toBe('suppressed_person');
    await service.close();
    store.close();
  });

  it('an erasure from many answers lets other processes write to the books after every few of them', async () => {
    const path = await makeStore();
    const [store, other] = [openStore(path), openStore(path, 0)];
    const rows = new AnswerRows(store);
    for (let n = 0; n < 30; n++) {
      const answer = { status: 200, headers: {}, text: JSON.stringify({ email: 'ada@acme.example', n }), named: {} };
      transaction(store.books, () => rows.put([{ scope: Buffer.of(n), request: Buffer.of(n), atMs: n, answer, sealed: null }]));
    }
    const left: number[] = [30];
    const exec = store.books.exec.bind(store.books);
    store.books.exec = (sql) => {
      exec(sql);
      if (sql !== 'COMMIT') return;
      other.books.exec('UPDATE keys SET credits_used = credits_used + 1');
      left.push(Number(other.books.prepare('SELECT count(block) AS n FROM answers').get()?.['n']));
    };
    suppress(store, ['ada@acme.example']);
    expect(Math.max(...left.slice(1).map((n, at) => (left[at] as number) - n))).toBeLessThanOrEqual(4);
    expect(left.at(-1)).toBe(0);
    for (const one of [store, other]) one.close();
  });

  it('an answer from before the erasure is not written after it', async () => {
    const store = await emptyStore();
    const journal = new Journal(store, (error) => {
      throw error;
    });
    const idempotency = new Idempotency(store, journal, () => 1_000);
    const body = new Uint8Array();
    const answer = (key: string, email: string): void => {
      const begun = idempotency.claim('k', key, '/v1/emails/verify', body);
      if (begun.kind === 'new')
        idempotency.finish(begun.ticket, { status: 200, headers: {}, text: JSON.stringify({ email }), named: {}, secret: null });
    };
    answer('gone', 'ADA@acme.example');
    answer('kept', 'max@acme.example');
    suppress(store, ['ada@acme.example'], 1_001);
    expect(['kept', 'gone'].map((key) => idempotency.claim('k', key, '/v1/emails/verify', body).kind)).toEqual(['replay', 'erased']);
    journal.flush();
    expect([
      idempotency.claim('k', 'gone', '/v1/emails/verify', body).kind,
      store.books.prepare('SELECT count(block) AS n FROM answers').get(),
    ]).toEqual(['erased', { n: 1 }]);
    journal.close();
    store.close();
  });
});
