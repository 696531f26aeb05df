import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { transaction } from '../../../src/sqlite/transaction.ts';
import type { Webhook } from '../../../src/service/webhooks/webhook-rows.ts';
import { announce, HOUR_MS, states, subscribe, World, type Process } from './processes.ts';
import { Receiver } from './receiver.ts';

describe('an answer of 410', () => {
  it('disables the webhook and gives up its pending deliveries', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.reactions = [500];
    receiver.usual = 410;
    const id = await world.live(async (process) => {
      const webhook = subscribe(process, receiver.url());
      announce(process, 1);
      await receiver.count(1);
      return webhook;
    });
    await world.live(async (process) => {
      announce(process, 2);
      await receiver.count(2);
    });
    await world.live(async (process) => {
      announce(process, 3);
      expect(process.hooks.rows.find(id, 'k')?.disabled).toBe('gone');
      expect(states(process, id)).toEqual([
        ['failed', 1, 410],
        ['failed', 1, 500],
      ]);
    });
    world.nowMs += HOUR_MS;
    await world.live(async ({ hooks }) => expect(hooks.deliveries.pending()).toBe(0));
    expect(receiver.received).toHaveLength(2);
  });

  it('an answer of 410 is recorded even if the filter of the webhook is damaged in the store', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = 410;
    const process = world.start();
    const id = subscribe(process, receiver.url());
    process.store.books.exec("UPDATE webhooks SET filter = '{'");
    announce(process, 1);
    await receiver.count(1);
    await process.hooks.close();
    expect(process.journal.flush()).toBe(true);
    expect([states(process, id), process.hooks.rows.positions(id)]).toEqual([[['failed', 1, 410]], null]);
  });

  it('from a former URL does not disable the webhook', async () => {
    const [world, former, receiver] = [await World.make(), await Receiver.start(), await Receiver.start()];
    const process = world.start();
    const id = subscribe(process, former.url());
    former.usual = (response) => {
      const { events, filter } = process.hooks.rows.find(id, 'k') as Webhook;
      process.hooks.rows.change(id, { url: receiver.url(), events, filter, disabled: null }, null, 0);
      process.hooks.deliveries.move(id, new URL(receiver.url()).host);
      response.writeHead(410).end();
    };
    announce(process, 1);
    expect((await receiver.count(1))[0]?.headers['webhook-id']).toBe(former.received[0]?.headers['webhook-id']);
    expect(process.hooks.rows.find(id, 'k')?.disabled).toBe(null);
  });
});

describe('a receiver that always fails', () => {
  const daysMs = 24 * HOUR_MS;
  /** Lets `forMs` pass, and makes each attempt when it is due. */
  async function pass(world: World, receiver: Receiver, forMs: number): Promise<void> {
    const untilMs = world.nowMs + forMs;
    for (;;) {
      const process = world.start();
      const nextMs = process.store.books.prepare('SELECT min(next_at) AS ms FROM webhook_deliveries').get()?.['ms'] as number | null;
      if (nextMs === null || nextMs > untilMs) break;
      world.nowMs = Math.max(world.nowMs, nextMs);
      const before = receiver.received.length;
      process.hooks.wake();
      await receiver.count(before + 1);
      await process.end();
    }
    world.nowMs = untilMs;
  }
  const healthOf = ({ hooks }: Process, id: string): unknown => {
    const { disabled, disabledMs, failingMs } = hooks.rows.find(id, 'k') as Webhook;
    return { disabled, disabledMs, failingMs };
  };

  it('disables its webhook once a delivery ends after five days; enabling it clears its failures', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = 500;
    const first = world.start();
    const [id, failingMs] = [subscribe(first, receiver.url()), world.nowMs];
    await first.end();
    const deliver = async (n: number, forMs: number): Promise<unknown> => {
      const process = world.start();
      announce(process, n);
      await receiver.count(receiver.received.length + 1);
      await process.end();
      await pass(world, receiver, forMs);
      return healthOf(world.start(), id);
    };
    // The first delivery ends within the five days, the second one after them, while the third one is pending.
    expect([await deliver(1, 4 * daysMs), await deliver(2, 3 * daysMs)]).toEqual([
      { disabled: null, disabledMs: null, failingMs },
      { disabled: null, disabledMs: null, failingMs },
    ]);
    const disabledMs = failingMs + 7 * daysMs + 3 * HOUR_MS + 35 * 60_000 + 5_000;
    expect(await deliver(3, daysMs)).toEqual({ disabled: 'failing', disabledMs, failingMs });
    const last = world.start();
    expect(states(last, id)).toEqual([
      ['failed', 5, 500],
      ['failed', 10, 500],
      ['failed', 10, 500],
    ]);
    const { url, events, filter } = last.hooks.rows.find(id, 'k') as Webhook;
    transaction(last.store.books, () => last.hooks.rows.change(id, { url, events, filter, disabled: null }, null, world.nowMs));
    expect(healthOf(last, id)).toEqual({ disabled: null, disabledMs: null, failingMs: null });
  });

  it.each<[string, (process: Process, id: string) => void]>([
    ['a success', () => undefined],
    [
      'a change of the URL',
      ({ hooks, store }, id) => {
        const { events, filter } = hooks.rows.find(id, 'k') as Webhook;
        transaction(store.books, () => hooks.rows.change(id, { url: 'http://127.0.0.1:9/other', events, filter, disabled: null }, null, 0));
      },
    ],
  ])('has its failures cleared by %s', async (event, change) => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.reactions = [500];
    const process = world.start();
    const id = subscribe(process, receiver.url());
    announce(process, 1);
    await receiver.count(1);
    while (process.hooks.deliveries.isAnyDue(world.nowMs + 4_999) || (process.hooks.rows.find(id, 'k') as Webhook).failingMs === null)
      await setImmediate();
    expect(healthOf(process, id)).toEqual({ disabled: null, disabledMs: null, failingMs: world.nowMs });
    if (event === 'a success') {
      announce(process, 2);
      await receiver.count(2);
    } else change(process, id);
    await process.end();
    expect(healthOf(world.start(), id)).toEqual({ disabled: null, disabledMs: null, failingMs: null });
  });
});

describe('a receiver that asks for a pause each time', () => {
  it('disables its webhook like any other, even if many deliveries wait', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = (response) => response.writeHead(429, { 'retry-after': '3600' }).end();
    const process = world.start();
    const id = subscribe(process, receiver.url());
    const isRecorded = process.store.books.prepare('SELECT 1 FROM webhook_deliveries WHERE last_at = ?');
    const pass = async (): Promise<void> => {
      process.hooks.wake();
      await receiver.count(receiver.received.length + 1);
      for (; isRecorded.get(world.nowMs) === undefined; process.journal.flush()) await setImmediate();
      world.nowMs += HOUR_MS;
    };
    announce(process, 0);
    await pass();
    transaction(process.store.books, () => {
      for (let n = 1; n < 100; n++) announce(process, n);
    });
    const startedMs = world.nowMs;
    while (world.nowMs < startedMs + 8 * 24 * HOUR_MS && process.hooks.deliveries.pending() > 0) await pass();
    expect(process.hooks.rows.find(id, 'k')?.disabled).toBe('failing');
    expect(process.hooks.deliveries.pending()).toBe(0);
  });
});
