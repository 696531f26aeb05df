import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { loadPeople, loadSignals } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { checkEvent } from '../answers.ts';
import { serveHooked } from './hooked.ts';
import { announce, subscribe, World } from './processes.ts';
import { Receiver } from './receiver.ts';

const JANE = 'jane.doe@acme.example';

describe('an erasure', () => {
  it('removes deliveries, sent or not, that name the person or are about them, and no others', async () => {
    const receiver = await Receiver.start(checkEvent);
    const service = await serveHooked();
    await service.subscribe({ events: ['enrichment.completed', 'executive.move', 'job.change'], url: receiver.url() });
    const open = openStore(service.store);
    receiver.reactions = [200];
    receiver.usual = 500;
    await service.post('/v1/enrich', { id: 'pe_1' });
    await receiver.count(1);
    // The body of this delivery does not name the person.
    await service.post('/v1/enrich', { id: 'pe_1', fields: ['title'] });
    await service.post('/v1/enrich', { id: 'pe_3' });
    await service.post('/v1/enrich', { domain: 'acme.example' });
    loadSignals(
      open,
      [
        { id: 's1', type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01', person: { name: 'Jane Doe' } },
        { id: 's2', type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01' },
      ],
      'crm',
    );
    loadPeople(
      open,
      ['pe_1', 'pe_3'].map((person) => ({
        id: person,
        email: person === 'pe_1' ? JANE : 'solo@nowhere.example',
        title: 'Chair',
        updated_at: '2099-01-01',
      })),
      'crm',
    );
    loadPeople(
      open,
      ['pe_1', 'pe_3'].map((person) => ({
        id: person,
        email: person === 'pe_1' ? JANE : 'solo@nowhere.example',
        title: 'Advisor',
        updated_at: '2099-01-02',
      })),
      'crm',
    );
    const stored = (): unknown[] =>
      open.books.prepare('SELECT type, signal, person FROM webhook_deliveries ORDER BY type, signal, person').all();
    // The rows are counted, because refused deliveries arrive again after 5 s.
    await expect.poll(stored).toHaveLength(9);
    await service.close();
    suppress(open, [JANE], Date.now());
    expect(stored()).toEqual([
      { type: 'enrichment.completed', signal: null, person: null },
      { type: 'enrichment.completed', signal: null, person: 'pe_3' },
      { type: 'executive.move', signal: 's2', person: null },
      { type: 'job.change', signal: null, person: 'pe_3' },
    ]);
    expect(open.prepare('SELECT DISTINCT person FROM job_changes').all()).toEqual([{ person: 'pe_3' }]);
    open.close();
  });

  it('also removes damaged rows, and is not stopped by them', async () => {
    const process = (await World.make()).start();
    const { store } = process;
    const id = subscribe(process, 'http://127.0.0.1:9');
    announce(process, 1);
    process.hooks.announce({ type: 'batch.completed', keyId: 'k', data: { contact: JANE }, webhookUrl: null });
    announce(process, 3);
    store.books.exec(`
      UPDATE webhook_deliveries SET body = x'00' WHERE seq = 1;
      INSERT INTO answer_blocks (position, at, texts) VALUES (7, 1, x'00');
      INSERT INTO answers (scope, request, status, at, block, text_from, text_to) VALUES (x'01', x'01', 200, 1, 7, 0, 1);
      INSERT INTO verifications (id, key_id, started_at, request, results, done, paid) VALUES ('v', 'k', 1, x'00', x'00', 0, 0);
      UPDATE webhooks SET filter = '{"email"'`);
    suppress(store, [JANE]);
    const countOf = (table: string): unknown => store.books.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'];
    expect(['webhook_deliveries', 'answer_blocks', 'verifications'].map(countOf)).toEqual([1, 0, 0]);
    // The people in a damaged filter are unknown, so it matches nobody now.
    expect(process.hooks.rows.find(id, 'k')).toMatchObject({ filter: { id: [] }, disabled: 'nobody_left' });
  });

  it('does not remove a new delivery that reuses the row number of a removed one', async () => {
    const world = await World.make();
    const process = world.start();
    subscribe(process, 'http://127.0.0.1:9');
    process.hooks.announce({ type: 'batch.completed', keyId: 'k', data: { contact: JANE }, webhookUrl: null });
    const other = openStore(world.path);
    const prepare = other.books.prepare.bind(other.books);
    // The erasure has read the deliveries without a lock, and has not written yet.
    other.books.prepare = (sql) => {
      if (sql.startsWith('SELECT id, filter'))
        transaction(process.store.books, () => {
          process.store.books.exec('DELETE FROM webhook_deliveries');
          announce(process, 2);
        });
      return prepare(sql);
    };
    suppress(other, [JANE]);
    other.close();
    expect(process.hooks.deliveries.pending()).toBe(1);
  });

  it('an erasure that missed a delivery still stops it: each delivery is checked again before it is sent', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const process = world.start();
    subscribe(process, receiver.url());
    process.hooks.announce({
      type: 'batch.completed',
      keyId: 'k',
      data: { metadata: { contact: `<${JANE.toUpperCase()}>` } },
      webhookUrl: null,
    });
    announce(process, 2);
    const other = openStore(world.path);
    other.books.prepare('INSERT INTO suppressions (email_sha256, at) VALUES (?, ?)').run(hash('sha256', JANE, 'buffer'), world.nowMs + 1);
    other.close();
    await receiver.count(1);
    await process.end();
    expect([receiver.received.map(({ body }) => body.data), process.hooks.dispatcher.counts.erased]).toEqual([[{ n: 2 }], 1]);
  });

  it('removes deliveries that were created while the clock was ahead', async () => {
    const world = await World.make();
    world.nowMs = Date.now() + 3_600_000;
    const process = world.start();
    subscribe(process, 'http://127.0.0.1:9');
    process.hooks.announce({ type: 'batch.completed', keyId: 'k', data: { metadata: { contact: JANE } }, webhookUrl: null });
    announce(process, 2);
    process.journal.flush();
    const stored = (): unknown => process.store.books.prepare('SELECT count(*) AS n FROM webhook_deliveries').get();
    expect(stored()).toEqual({ n: 2 });
    const other = openStore(world.path);
    suppress(other, [JANE]);
    other.close();
    expect(stored()).toEqual({ n: 1 });
    await process.end();
  });

  it('removes the person from filters, and disables a webhook that tracked nobody else', async () => {
    const service = await serveHooked();
    const track = (filter: Readonly<Record<string, unknown>>) =>
      service.subscribe({ event: 'job.change', url: 'https://hooks.acme.example', filter });
    const hooks = [
      await track({ email: [JANE] }),
      await track({ email: [JANE], id: ['pe_3'] }),
      await track({ id: ['pe_1', 'pe_3'], domain: ['acme.example'] }),
      await track({ domain: ['acme.example'] }),
    ];
    await service.post(
      '/v1/webhooks',
      { event: 'job.change', url: 'https://hooks.acme.example', filter: { email: [JANE] } },
      { headers: { 'idempotency-key': 'once' } },
    );
    const open = openStore(service.store);
    const answers = (): unknown => open.books.prepare('SELECT count(block) AS n FROM answers').get()?.['n'];
    expect(answers()).toBe(1);
    suppress(open, [JANE], Date.now());
    expect(answers()).toBe(0);
    open.close();
    const webhooks = [];
    for (const { id } of hooks) webhooks.push((await service.call('GET', `/v1/webhooks/${id}`)).json);
    expect(webhooks.map(({ filter, enabled, disabled_reason: reason }) => [filter, enabled, reason])).toEqual([
      [{ email: [] }, false, 'nobody_left'],
      [{ email: [], id: ['pe_3'] }, true, null],
      [{ id: ['pe_3'], domain: ['acme.example'] }, true, null],
      [{ domain: ['acme.example'] }, true, null],
    ]);
  });
});
