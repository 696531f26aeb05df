import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { loadSignals } from '../../../src/service/store/load.ts';
import { askedMs, LONGEST_MS, pauseMs, RETRY_AFTER_MS, retryAfterMs } from '../../../src/service/webhooks/retries.ts';
import { packBody } from '../../../src/service/webhooks/delivery-rows.ts';
import { AT_ONCE, MOST_KEPT, pruneDeliveries } from '../../../src/service/webhooks/prune.ts';
import type { ServiceLog } from '../../../src/service/watch/log.ts';
import { newSecret } from '../../../src/service/webhooks/signature.ts';
import type { Webhook } from '../../../src/service/webhooks/webhook-rows.ts';
import { announce, subscribe, World, type Process } from './processes.ts';
import { Receiver, type Reaction } from './receiver.ts';

const HOUR_MS = 3_600_000;

const states = ({ hooks }: Process, id: string): unknown[] => hooks.deliveries.page(id, Number.MAX_SAFE_INTEGER, 100).map(({ state, attempts, lastStatus, lastError }) => [state, attempts, lastStatus ?? lastError]);

describe('an attempt that fails', () => {
  it('is made again after 5 s, 5 m, 30 m, 2, 5, 10, 14, 20 and 24 h, with the same id and body, by whichever process is there; then no more', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = 500;
    const delays: number[] = [];
    const id = await world.live(async (process) => {
      const made = subscribe(process, receiver.url());
      announce(process, 1);
      await receiver.count(1);
      return made;
    });
    for (let attempt = 2; attempt <= 10; attempt++) {
      await world.live(async ({ hooks }) => {
        const [delivery] = hooks.deliveries.page(id, Number.MAX_SAFE_INTEGER, 1);
        expect(delivery).toMatchObject({ state: 'pending', attempts: attempt - 1, lastStatus: 500 });
        const dueMs = delivery?.nextMs ?? 0;
        expect([hooks.deliveries.isAnyDue(dueMs - 1), hooks.deliveries.isAnyDue(dueMs)]).toEqual([false, true]);
        delays.push(dueMs - world.nowMs);
        world.nowMs = dueMs;
        hooks.wake();
        await receiver.count(attempt);
      });
    }
    expect(delays).toEqual([5_000, 300_000, 1_800_000, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS]);
    const process = world.start();
    expect([states(process, id), process.hooks.deliveries.pending()]).toEqual([[['failed', 10, 500]], 0]);
    expect(new Set(receiver.received.map(({ headers, text }) => `${String(headers['webhook-id'])} ${text}`)).size).toBe(1);
    const stamps = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']));
    expect(stamps.at(-1)).toBe(Math.floor(world.nowMs / 1_000));
  });

  it('waits a tenth longer at the most', () => {
    for (const [n, afterMs] of RETRY_AFTER_MS.entries()) expect([retryAfterMs(n + 1, 0, null), retryAfterMs(n + 1, 1, null)]).toEqual([afterMs, Math.round(afterMs * 1.1)]);
    expect(retryAfterMs(RETRY_AFTER_MS.length + 1, 0, null)).toBeNull();
  });

  it.each<[string | undefined, number | null]>([
    [undefined, null], ['0', 0], ['120', 120_000], ['9'.repeat(400), Infinity], ['Sun, 22 Nov 2026 13:00:00 GMT', HOUR_MS], ['Sun, 22 Nov 2026 11:00:00 GMT', 0], ['-1', null], ['1.5', null], ['soon', null], ['Sun, 99 Nov 2026 13:00:00 GMT', null], ['2026-11-22', null], ['', null],
  ])('reads Retry-After: %j asks for %j milliseconds', (header, wanted) => expect(askedMs(header, Date.parse('2026-11-22T12:00:00Z'))).toBe(wanted));

  it('waits as long as the receiver asks for, but never less than it would, nor longer than a day and a tenth', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: RETRY_AFTER_MS.length }), fc.double({ min: 0, max: 1, noNaN: true }), fc.oneof(fc.nat(48 * HOUR_MS), fc.constant(Infinity)), (attempts, random, asked) => {
      const [usual, found] = [retryAfterMs(attempts, random, null) as number, retryAfterMs(attempts, random, asked) as number];
      expect(found).toBeGreaterThanOrEqual(Math.max(usual, Math.min(asked, 24 * HOUR_MS)));
      expect(found).toBeLessThanOrEqual(Math.max(usual, Math.min(LONGEST_MS, asked * 1.1) + 1));
    }));
  });

  it.each([
    [429, null, 5_000], [429, 0, 0], [429, 120_000, 120_000], [429, Infinity, HOUR_MS], [503, null, 0], [503, 120_000, 120_000], [500, 120_000, 0], [200, 120_000, 0], [null, null, 0],
  ])('has others to the same host wait: after %j with Retry-After of %j milliseconds for %j', (status, asked, wanted) => expect(pauseMs(status, asked)).toBe(wanted));

  it('goes by Retry-After of the answer, has others to the host wait as well, and goes easier on who was busy', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.reactions = [(response) => response.writeHead(503, { 'retry-after': '3600' }).end()];
    receiver.usual = () => undefined;
    const process = world.start();
    const id = subscribe(process, receiver.url());
    announce(process, 0);
    await receiver.count(1);
    while (process.hooks.deliveries.page(id, Number.MAX_SAFE_INTEGER, 1)[0]?.lastStatus !== 503) await setImmediate();
    expect(process.hooks.deliveries.page(id, Number.MAX_SAFE_INTEGER, 1)[0]).toMatchObject({ state: 'pending', nextMs: world.nowMs + HOUR_MS });
    transaction(process.store, () => {
      for (let n = 1; n <= 5; n++) announce(process, n);
    });
    await process.hooks.courier.sendDue();
    world.nowMs += HOUR_MS - 1;
    await process.hooks.courier.sendDue();
    expect([receiver.received.length, process.hooks.deliveries.isAnyDue(world.nowMs)]).toEqual([1, true]);
    world.nowMs += 1;
    process.hooks.wake();
    await receiver.count(2);
    await process.hooks.courier.sendDue();
    // Four of them are nobody's yet.
    expect(process.hooks.deliveries.isAnyDue(world.nowMs)).toBe(true);
    receiver.usual = 200;
    receiver.server.closeAllConnections();
  });

  it('does not undo that the delivery was asked for again while it was under way', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const held = Promise.withResolvers<() => void>();
    receiver.reactions = [500, (response) => held.resolve(() => void response.writeHead(500).end()), 200];
    const id = await world.live(async (process) => {
      const made = subscribe(process, receiver.url());
      announce(process, 1);
      await receiver.count(1);
      return made;
    });
    world.nowMs += HOUR_MS;
    await world.live(async ({ hooks, store }) => {
      const answer = await held.promise;
      const [delivery] = hooks.deliveries.page(id, Number.MAX_SAFE_INTEGER, 1);
      expect(delivery?.attempts).toBe(1);
      transaction(store, () => hooks.deliveries.sendAgain(delivery?.id ?? '', world.nowMs));
      answer();
      await receiver.count(3);
    });
    expect(states(world.start(), id)).toEqual([['delivered', 1, 200]]);
  });

  it.each([200, 410])('does not undo that it was asked for again while its first attempt was under way, which is answered %i', async (status) => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const held = Promise.withResolvers<() => void>();
    receiver.reactions = [(response) => held.resolve(() => void response.writeHead(status).end())];
    const process = world.start();
    announce(process, 1, receiver.url());
    const answer = await held.promise;
    const [delivery] = process.hooks.deliveries.page('k', Number.MAX_SAFE_INTEGER, 1);
    transaction(process.store, () => process.hooks.deliveries.sendAgain(delivery?.id ?? '', world.nowMs));
    answer();
    await receiver.count(2);
    await process.end();
    expect(states(world.start(), 'k')).toEqual([['delivered', 1, 200]]);
  });

  it.each<[number, unknown]>([[500, ['failed', 0, 'webhook_disabled']], [200, ['delivered', 1, 200]]])('and is answered %i is not made again once its webhook was disabled meanwhile', async (status, wanted) => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const held = Promise.withResolvers<() => void>();
    receiver.reactions = [(response) => held.resolve(() => void response.writeHead(status).end())];
    const process = world.start();
    const id = subscribe(process, receiver.url());
    announce(process, 1);
    const answer = await held.promise;
    transaction(process.store, () => process.hooks.deliveries.giveUpAllOf(id, 'webhook_disabled'));
    answer();
    await process.end();
    expect(states(world.start(), id)).toEqual([wanted]);
  });

  it('settles no other delivery that has the place of its own, which was deleted meanwhile', async () => {
    const [world, slow, receiver] = [await World.make(), await Receiver.start(), await Receiver.start()];
    const held = Promise.withResolvers<() => void>();
    slow.reactions = [(response) => held.resolve(() => void response.writeHead(200).end())];
    const process = world.start();
    announce(process, 1, slow.url());
    const answer = await held.promise;
    transaction(process.store, () => {
      process.hooks.deliveries.forgetAllOf('k');
      process.hooks.announce({ type: 'batch.completed', keyId: 'other', data: { n: 2 }, webhookUrl: receiver.url() });
    });
    answer();
    await receiver.count(1);
    await process.end();
    expect(states(world.start(), 'other')).toEqual([['delivered', 1, 200]]);
  });

  it('is not put off for good by a clock that was ahead', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.reactions = [500];
    await world.live(async (process) => {
      subscribe(process, receiver.url());
      announce(process, 1);
      await receiver.count(1);
    });
    world.nowMs -= 365 * 24 * HOUR_MS;
    await world.live(async ({ hooks }) => {
      world.nowMs += 61_000;
      hooks.wake();
      await receiver.count(2);
    });
  });

  it.each<[string, Reaction, number | string]>([
    ['a redirect, which is not followed', (response) => response.writeHead(307, { location: '/elsewhere' }).end(), 307],
    ['a connection that is cut', (response) => response.destroy(), 'connection_failed'],
    ['100 Continue and no more', (response) => { response.writeProcessing(); response.destroy(); }, 'connection_failed'],
    ['a server error', 503, 503],
  ])('is %s', async (_what, reaction, told) => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = reaction;
    const id = await world.live(async (process) => {
      const made = subscribe(process, receiver.url());
      announce(process, 1);
      await receiver.count(1);
      return made;
    });
    expect(states(world.start(), id)).toEqual([['pending', 1, told]]);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook']);
  });

  it('is nobody else\'s for a minute, while it is under way', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = () => undefined;
    const process = world.start();
    const id = subscribe(process, receiver.url());
    announce(process, 1);
    await receiver.count(1);
    expect(process.hooks.deliveries.isAnyDue(world.nowMs + 59_000)).toBe(false);
    // As if the process had been killed: after a minute it is due again, for any.
    expect(process.hooks.deliveries.isAnyDue(world.nowMs + 60_000)).toBe(true);
    expect(states(process, id)).toEqual([['pending', 0, null]]);
    receiver.server.closeAllConnections();
  });

  it('is not made again because a process let go of it that had it until it was settled elsewhere', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const held = Promise.withResolvers<void>();
    receiver.reactions = [() => held.resolve()];
    const slow = world.start();
    const id = subscribe(slow, receiver.url());
    announce(slow, 1);
    await held.promise;
    world.nowMs += 61_000;
    await world.live(() => receiver.count(2));
    expect(states(slow, id)).toEqual([['delivered', 1, 200]]);
    // As it ends with an attempt that has come to nothing.
    const { deliveries, writes } = slow.hooks;
    await writes.write(() => deliveries.take(deliveries.page(id, Number.MAX_SAFE_INTEGER, 1)[0]?.id ?? '', world.nowMs));
    expect(deliveries.pending()).toBe(0);
    receiver.server.closeAllConnections();
  });

  it('a body without end is read no further than it need be', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    let closed = Promise.withResolvers<void>();
    receiver.usual = (response) => {
      response.once('close', () => closed.resolve());
      response.on('error', () => undefined);
      const more = (): void => void (response.destroyed || response.write(Buffer.alloc(16_384), more));
      response.writeHead(200);
      more();
    };
    const id = await world.live(async (process) => {
      const made = subscribe(process, receiver.url());
      announce(process, 1);
      await closed.promise;
      closed = Promise.withResolvers();
      return made;
    });
    expect(states(world.start(), id)).toEqual([['delivered', 1, 200]]);
  });
});

describe('a webhook that is deleted', () => {
  it('is sent nothing that was taken in the same transaction, by no secret', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const process = world.start();
    const { courier, deliveries, rows, writes } = process.hooks;
    const id = subscribe(process, receiver.url());
    announce(process, 1);
    await Promise.all([courier.sendDue(), writes.write(() => {
      rows.remove(id);
      deliveries.forgetAllOf(id);
    })]);
    await process.end();
    expect(receiver.received).toEqual([]);
  });
});

describe('a store that cannot be read', () => {
  it('ends no process when it is looked into every second', async () => {
    const log: unknown[] = [];
    const every = vi.spyOn(globalThis, 'setInterval');
    const { hooks } = (await World.make()).start({ log: { write: (_level: unknown, record: unknown) => void log.push(record) } as unknown as ServiceLog });
    hooks.start();
    const tick = every.mock.calls.find(([, everyMs]) => everyMs === 1_000)?.[0] as () => void;
    every.mockRestore();
    let isUnreadable = false;
    const isAnyDue = hooks.deliveries.isAnyDue.bind(hooks.deliveries);
    hooks.deliveries.isAnyDue = (nowMs) => {
      if (isUnreadable) throw new Error('disk I/O error');
      return isAnyDue(nowMs);
    };
    // While there are news to be looked at, nobody asks what is due.
    while (log.length === 0) {
      isUnreadable = true;
      tick();
      isUnreadable = false;
      await setImmediate();
    }
    expect(log).toEqual([{ event: 'webhooks_failed', error: 'disk I/O error' }]);
  });

  it('is written to and delivered from all the same where it is but one body that is broken', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const log: unknown[] = [];
    const process = world.start({ log: { write: (_level: unknown, record: unknown) => void log.push(record) } as unknown as ServiceLog });
    transaction(process.store, () => {
      announce(process, 1, receiver.url('/broken'));
      process.store.exec("UPDATE webhook_deliveries SET body = x'00'");
      announce(process, 2, receiver.url());
    });
    const [told] = await receiver.count(1);
    await process.end();
    const after = world.start();
    // It is given up: it would be tried, and told of in the log, once a minute for good.
    expect([told?.body.data['n'], states(after, 'k'), after.hooks.deliveries.pending()]).toEqual([2, [['delivered', 1, 200], ['failed', 0, 'unreadable']], 0]);
    expect(log.filter((record) => (record as { state?: unknown }).state === 'failed')).toMatchObject([{ event: 'webhook_delivery', error: 'unreadable' }]);
  });

  it('keeps nothing from the others where it is news of one webhook', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const log: Record<string, unknown>[] = [];
    await world.live(async (process) => {
      const broken = subscribe(process, receiver.url('/broken'), ['funding.round']);
      subscribe(process, receiver.url('/signals'), ['funding.round']);
      subscribe(process, receiver.url('/batches'));
      process.store.prepare("UPDATE webhooks SET filter = '{' WHERE id = ?").run(broken);
      loadSignals(process.store, [{ id: 's1', type: 'funding', domain: 'acme.example', occurred_at: '2026-01-01' }], 'crm');
      announce(process, 1);
      expect(new Set((await receiver.count(2)).map(({ path }) => path))).toEqual(new Set(['/signals', '/batches']));
      // It is looked at again meanwhile.
      process.hooks.changed();
      announce(process, 2);
      await receiver.count(3);
    }, { log: { write: (_level: unknown, record: Record<string, unknown>) => void log.push(record) } as unknown as ServiceLog });
    expect(log.filter(({ event }) => event === 'webhooks_failed')).toMatchObject([{ error: expect.stringContaining('JSON') as unknown }]);
  });

  it('ends no process: what was taken is tried again once it is due', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    let failures = 1;
    const digestsOf = (): Buffer[] => {
      if (failures-- > 0) throw new Error('disk I/O error');
      return [Buffer.alloc(32)];
    };
    const log: Record<string, unknown>[] = [];
    await world.live(async (process) => {
      const url = receiver.url();
      announce(process, 1, url);
      announce(process, 2, url);
      await receiver.count(1);
    }, { keys: { digestsOf }, log: { write: (_level: unknown, record: Record<string, unknown>) => void log.push(record) } as unknown as ServiceLog });
    expect(log.filter(({ event }) => event === 'webhooks_failed')).toEqual([{ event: 'webhooks_failed', error: 'disk I/O error' }]);
    world.nowMs += HOUR_MS;
    await world.live(() => receiver.count(2));
    expect(new Set(receiver.received.map(({ body }) => body.data['n']))).toEqual(new Set([1, 2]));
  });
});

describe('410', () => {
  it('disables the webhook, and gives up what waits for it', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.reactions = [500];
    receiver.usual = 410;
    const id = await world.live(async (process) => {
      const made = subscribe(process, receiver.url());
      announce(process, 1);
      await receiver.count(1);
      return made;
    });
    await world.live(async (process) => {
      announce(process, 2);
      await receiver.count(2);
    });
    await world.live(async (process) => {
      announce(process, 3);
      expect(process.hooks.rows.find(id, 'k')?.disabled).toBe('gone');
      expect(states(process, id)).toEqual([['failed', 1, 410], ['failed', 1, 500]]);
    });
    world.nowMs += HOUR_MS;
    await world.live(async ({ hooks }) => expect(hooks.deliveries.pending()).toBe(0));
    expect(receiver.received).toHaveLength(2);
  });

  it('is written down, with what else is to be, though the filter of the webhook is damaged in the store', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = 410;
    const process = world.start();
    const id = subscribe(process, receiver.url());
    process.store.exec("UPDATE webhooks SET filter = '{'");
    announce(process, 1);
    await receiver.count(1);
    await process.hooks.close();
    expect(process.journal.flush()).toBe(true);
    expect([states(process, id), process.hooks.rows.places(id)]).toEqual([[['failed', 1, 410]], null]);
  });

  it('of an address that the webhook has no more says nothing of the one that it has now', async () => {
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

describe('a receiver to which nothing can be delivered', () => {
  const daysMs = 24 * HOUR_MS;
  /** Lives on for so long, with every attempt when it is due. */
  async function pass(world: World, receiver: Receiver, forMs: number): Promise<void> {
    const untilMs = world.nowMs + forMs;
    for (;;) {
      const process = world.start();
      const nextMs = process.store.prepare('SELECT min(next_at) AS ms FROM webhook_deliveries').get()?.['ms'] as number | null;
      if (nextMs === null || nextMs > untilMs) break;
      world.nowMs = Math.max(world.nowMs, nextMs);
      const before = receiver.received.length;
      process.hooks.wake();
      await receiver.count(before + 1);
      await process.end();
    }
    world.nowMs = untilMs;
  }
  const shown = ({ hooks }: Process, id: string): unknown => {
    const { disabled, disabledMs, failingMs } = hooks.rows.find(id, 'k') as Webhook;
    return { disabled, disabledMs, failingMs };
  };

  it('has its webhook disabled when another delivery comes to its end after five days; a change enables it, and then nothing has failed yet', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = 500;
    const first = world.start();
    const [id, failingMs] = [subscribe(first, receiver.url()), world.nowMs];
    await first.end();
    const tell = async (n: number, forMs: number): Promise<unknown> => {
      const process = world.start();
      announce(process, n);
      await receiver.count(receiver.received.length + 1);
      await process.end();
      await pass(world, receiver, forMs);
      return shown(world.start(), id);
    };
    // The first one comes to its end within the five days, the second one behind them, while the third one waits.
    expect([await tell(1, 4 * daysMs), await tell(2, 3 * daysMs)]).toEqual([{ disabled: null, disabledMs: null, failingMs }, { disabled: null, disabledMs: null, failingMs }]);
    const disabledMs = failingMs + 7 * daysMs + 3 * HOUR_MS + 35 * 60_000 + 5_000;
    expect(await tell(3, daysMs)).toEqual({ disabled: 'failing', disabledMs, failingMs });
    const last = world.start();
    expect(states(last, id)).toEqual([['failed', 5, 500], ['failed', 10, 500], ['failed', 10, 500]]);
    const { url, events, filter } = last.hooks.rows.find(id, 'k') as Webhook;
    transaction(last.store, () => last.hooks.rows.change(id, { url, events, filter, disabled: null }, null, world.nowMs));
    expect(shown(last, id)).toEqual({ disabled: null, disabledMs: null, failingMs: null });
  });

  it.each<[string, (process: Process, id: string) => void]>([
    ['delivered', () => undefined],
    ['another address', ({ hooks, store }, id) => {
      const { events, filter } = hooks.rows.find(id, 'k') as Webhook;
      transaction(store, () => hooks.rows.change(id, { url: 'http://127.0.0.1:9/other', events, filter, disabled: null }, null, 0));
    }],
  ])('has failed for no time once there is %s', async (what, change) => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.reactions = [500];
    const process = world.start();
    const id = subscribe(process, receiver.url());
    announce(process, 1);
    await receiver.count(1);
    while (process.hooks.deliveries.isAnyDue(world.nowMs + 4_999) || (process.hooks.rows.find(id, 'k') as Webhook).failingMs === null) await setImmediate();
    expect(shown(process, id)).toEqual({ disabled: null, disabledMs: null, failingMs: world.nowMs });
    if (what === 'delivered') {
      announce(process, 2);
      await receiver.count(2);
    } else change(process, id);
    await process.end();
    expect(shown(world.start(), id)).toEqual({ disabled: null, disabledMs: null, failingMs: null });
  });
});

describe('a receiver that asks to be left alone each time', () => {
  it('is given up as any other, however many deliveries wait for it', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = (response) => response.writeHead(429, { 'retry-after': '3600' }).end();
    const process = world.start();
    const id = subscribe(process, receiver.url());
    const isNoted = process.store.prepare('SELECT 1 FROM webhook_deliveries WHERE last_at = ?');
    const pass = async (): Promise<void> => {
      process.hooks.wake();
      await receiver.count(receiver.received.length + 1);
      for (; isNoted.get(world.nowMs) === undefined; process.journal.flush()) await setImmediate();
      world.nowMs += HOUR_MS;
    };
    announce(process, 0);
    await pass();
    transaction(process.store, () => {
      for (let n = 1; n < 100; n++) announce(process, n);
    });
    const startedMs = world.nowMs;
    while (world.nowMs < startedMs + 8 * 24 * HOUR_MS && process.hooks.deliveries.pending() > 0) await pass();
    expect(process.hooks.rows.find(id, 'k')?.disabled).toBe('failing');
    expect(process.hooks.deliveries.pending()).toBe(0);
  });
});

describe('an attempt that fails after another one was quicker', () => {
  it('says nothing of the receiver any more: it has taken the delivery since', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const held = Promise.withResolvers<() => void>();
    receiver.reactions = [(response) => held.resolve(() => response.writeHead(500).end())];
    const slow = world.start();
    const id = subscribe(slow, receiver.url());
    announce(slow, 1);
    const fail = await held.promise;
    world.nowMs += 61_000;
    await world.live(() => receiver.count(2));
    fail();
    await slow.end();
    const after = world.start();
    expect([states(after, id), after.hooks.rows.find(id, 'k')?.failingMs]).toEqual([[['delivered', 1, 200]], null]);
  });
});

describe('several at once', () => {
  it('two processes over one store send each delivery once', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const [one, other] = [world.start(), world.start()];
    subscribe(one, receiver.url());
    subscribe(one, receiver.url('/second'));
    other.hooks.changed();
    for (let n = 0; n < 200; n++) (n % 2 === 0 ? one : other).hooks.announce({ type: 'batch.completed', keyId: 'k', data: { n }, webhookUrl: null });
    await receiver.count(400);
    await Promise.all([one.end(), other.end()]);
    expect(receiver.received).toHaveLength(400);
    expect(new Set(receiver.received.map(({ path, body }) => `${path} ${String(body.data['n'])}`)).size).toBe(400);
    expect(world.start().hooks.deliveries.pending()).toBe(0);
  });

  it('a receiver that does not answer holds up no other', async () => {
    const [world, dead, receiver] = [await World.make(), await Receiver.start(), await Receiver.start()];
    dead.usual = () => undefined;
    const process = world.start();
    subscribe(process, dead.url());
    transaction(process.store, () => {
      for (let n = 0; n < 300; n++) announce(process, n);
    });
    await dead.count(8);
    const id = subscribe(process, receiver.url());
    for (let n = 0; n < 50; n++) announce(process, n);
    await receiver.count(50);
    expect(dead.received).toHaveLength(8);
    dead.server.closeAllConnections();
    await process.end();
    expect(states(world.start(), id).every((one) => (one as unknown[])[0] === 'delivered')).toBe(true);
  });

  it('a key with any number of receivers that do not answer holds up no other key', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const dead = await Promise.all(Array.from({ length: 70 }, () => Receiver.start()));
    const process = world.start();
    const began = Promise.withResolvers<void>();
    let underWay = 0;
    for (const one of dead) one.usual = () => void (++underWay === 32 && began.resolve());
    transaction(process.store, () => {
      for (const [n, one] of dead.entries()) announce(process, n, one.url());
    });
    await began.promise;
    for (let n = 0; n < 50; n++) process.hooks.announce({ type: 'batch.completed', keyId: 'other', data: { n }, webhookUrl: receiver.url() });
    await receiver.count(50);
    expect(underWay).toBe(32);
    for (const one of dead) {
      one.usual = 200;
      one.server.closeAllConnections();
    }
  });

  it('one that is due is sent before long, among any number that wait for their time', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    // It looks only when there is something new.
    const { hooks, store } = world.start();
    const body = packBody('{"data":{}}');
    transaction(store, () => {
      for (let n = 0; n < 400; n++) hooks.deliveries.add({ keyId: 'k', to: { url: 'http://127.0.0.1:9' }, host: `0.${n}`, type: 'batch.failed', body, about: { signal: null, person: null }, createdMs: world.nowMs + HOUR_MS });
      hooks.deliveries.add({ keyId: 'k', to: { url: receiver.url() }, host: '1', type: 'batch.failed', body, about: { signal: null, person: null }, createdMs: world.nowMs });
    });
    hooks.wake();
    await receiver.count(1);
  });

  it('a receiver that two keys have in common and that answers one of them alone is quick for that one', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const process = world.start();
    receiver.usual = (response, { path }) => void (path === '/quick' && response.end());
    const received = (path: string): number => receiver.received.filter((one) => one.path === path).length;
    transaction(process.store, () => {
      for (let n = 0; n < 100; n++) announce(process, n, receiver.url('/dead'));
    });
    await receiver.count(8);
    for (let n = 0; n < 50; n++) process.hooks.announce({ type: 'batch.completed', keyId: 'other', data: { n }, webhookUrl: receiver.url('/quick') });
    await receiver.count(58);
    expect([received('/dead'), received('/quick')]).toEqual([8, 50]);
    receiver.usual = 200;
    receiver.server.closeAllConnections();
  });

  it('what was announced in a transaction that was undone is not sent, and what was is, after its end', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    await world.live(async (process) => {
      subscribe(process, receiver.url());
      expect(() => transaction(process.store, () => {
        announce(process, 1);
        throw new Error('undone');
      })).toThrow('undone');
      transaction(process.store, () => {
        announce(process, 2, receiver.url('/asked'));
        announce(process, 3, receiver.url());
      });
      await receiver.count(3);
    });
    expect(receiver.received.map(({ path, body }) => `${path} ${String(body.data['n'])}`).toSorted()).toEqual(['/asked 2', '/hook 2', '/hook 3']);
  });
});

describe('what belongs to an answer', () => {
  it('is written with what the journal writes next, unless it is taken back before', async () => {
    const process = (await World.make()).start();
    subscribe(process, 'http://127.0.0.1:9');
    const collect = (id: string) => process.hooks.collect({ type: 'batch.completed', keyId: 'k', data: { id }, webhookUrl: null });
    collect('undone')();
    collect('withdrawn');
    collect('kept');
    process.hooks.withdraw(({ data }) => data['id'] === 'withdrawn');
    expect(process.hooks.pending).toBe(0);
    expect(process.journal.flush()).toBe(true);
    expect(process.hooks.pending).toBe(1);
  });
});

describe('a secret that was replaced', () => {
  it('is forgotten once it signs no more', async () => {
    const world = await World.make();
    await world.live(async (process) => {
      const { hooks } = process;
      const [kept, forgotten] = [subscribe(process, 'http://127.0.0.1:9'), subscribe(process, 'http://127.0.0.1:9')];
      for (const [id, untilMs] of [[kept, world.nowMs + HOUR_MS], [forgotten, world.nowMs + 61_000]] as const) hooks.rows.rotate(id, newSecret(), untilMs, world.nowMs);
      world.nowMs += 61_000;
      hooks.wake();
      while (hooks.rows.secrets(forgotten)?.former !== null) await setImmediate();
      expect(hooks.rows.secrets(kept)?.former).toHaveLength(32);
    });
  });
});

describe('what is kept', () => {
  it('is the newest of a webhook; what goes undelivered is counted', async () => {
    const world = await World.make();
    const first = world.start();
    const { hooks } = first;
    const id = subscribe(first, 'http://127.0.0.1:9');
    // Not all in one go.
    const more = AT_ONCE + 37;
    transaction(first.store, () => {
      for (let n = 0; n < MOST_KEPT + more; n++) hooks.deliveries.add({ keyId: 'k', to: { webhookId: id }, host: 'h', type: 'batch.failed', body: packBody('{}'), about: { signal: null, person: null }, createdMs: world.nowMs + HOUR_MS });
    });
    await first.end();
    await world.live(async (process) => {
      world.nowMs += 61_000;
      const left: number[] = [];
      while (left.at(-1) !== MOST_KEPT) {
        process.hooks.wake();
        await setImmediate();
        const pending = process.hooks.deliveries.pending();
        if (pending !== left.at(-1)) left.push(pending);
      }
      await process.hooks.close();
      process.journal.flush();
      expect(left.filter((one) => one < MOST_KEPT + more)).toEqual([MOST_KEPT + 37, MOST_KEPT]);
      expect(process.hooks.rows.find(id, 'k')?.dropped).toBe(more);
      expect(process.hooks.courier.counts.dropped).toBe(more);
    });
  });

  it('are settled ones for 30 days; what waits is not dropped by a clock that is ahead', async () => {
    const world = await World.make();
    const process = world.start();
    const { deliveries, rows, writes } = process.hooks;
    const id = subscribe(process, 'http://127.0.0.1:9');
    const daysMs = 24 * HOUR_MS;
    transaction(process.store, () => {
      for (const n of [1, 2, 3, 4]) deliveries.add({ keyId: 'k', to: { webhookId: id }, host: 'h', type: 'batch.failed', body: packBody('{}'), about: { signal: null, person: null }, createdMs: world.nowMs + n * daysMs });
      process.store.prepare("UPDATE webhook_deliveries SET state = 'delivered', next_at = NULL WHERE created_at <> ?").run(world.nowMs + daysMs);
    });
    const kept = async (days: number): Promise<unknown> => {
      expect(await pruneDeliveries({ webhooks: rows, deliveries, writes }, world.nowMs + days * daysMs)).toEqual({ lost: 0, isMore: false });
      return deliveries.page(id, Number.MAX_SAFE_INTEGER, 100).map(({ createdMs, state }) => [(createdMs - world.nowMs) / daysMs, state]);
    };
    expect(await kept(33)).toEqual([[4, 'delivered'], [3, 'delivered'], [1, 'pending']]);
    expect(await kept(3_650)).toEqual([[1, 'pending']]);
  });

  it('is looked at where more was made since, here or before, and nowhere else', async () => {
    const world = await World.make();
    const add = ({ hooks }: Process, channel: string): void => hooks.deliveries.add({ keyId: channel, to: { url: 'http://127.0.0.1:9' }, host: 'h', type: 'batch.failed', body: packBody('{}'), about: { signal: null, person: null }, createdMs: world.nowMs });
    const before = world.start();
    for (const channel of ['a', 'b', 'b', 'c']) add(before, channel);
    await before.end();
    const process = world.start();
    const { deliveries, rows, writes } = process.hooks;
    const looked = async (): Promise<string[]> => {
      const seen = [...deliveries.grown];
      await pruneDeliveries({ webhooks: rows, deliveries, writes }, world.nowMs);
      return seen;
    };
    expect([await looked(), await looked()]).toEqual([['a', 'b', 'c'], []]);
    for (const channel of ['b', 'd']) add(process, channel);
    expect([await looked(), await looked()]).toEqual([['b', 'd'], []]);
  });

  it('is seen to at once where very many are made', async () => {
    const world = await World.make();
    await world.live(async (process) => {
      const { hooks } = process;
      const id = subscribe(process, 'http://127.0.0.1:9');
      const body = packBody('{}');
      transaction(process.store, () => {
        for (let n = 0; n < MOST_KEPT + 100; n++) hooks.deliveries.add({ keyId: 'k', to: { webhookId: id }, host: 'h', type: 'batch.failed', body, about: { signal: null, person: null }, createdMs: world.nowMs + HOUR_MS });
      });
      expect(hooks.deliveries.added).toBe(MOST_KEPT + 100);
      // As if they were the last of so many.
      hooks.deliveries.added = 50_000;
      hooks.wake();
      while (hooks.deliveries.pending() > MOST_KEPT) await setImmediate();
      expect(hooks.deliveries.pending()).toBe(MOST_KEPT);
    });
  });

  it('are those that wait, rather than newer ones that are settled', async () => {
    const process = (await World.make()).start();
    const { deliveries, rows, writes } = process.hooks;
    const id = subscribe(process, 'http://127.0.0.1:9');
    transaction(process.store, () => {
      for (let n = 0; n < MOST_KEPT + 30; n++) deliveries.add({ keyId: 'k', to: { webhookId: id }, host: 'h', type: 'batch.failed', body: packBody('{}'), about: { signal: null, person: null }, createdMs: HOUR_MS + n });
      // All but the oldest 20.
      process.store.prepare("UPDATE webhook_deliveries SET state = 'delivered', next_at = NULL WHERE created_at >= ?").run(HOUR_MS + 20);
    });
    expect(await pruneDeliveries({ webhooks: rows, deliveries, writes }, HOUR_MS)).toEqual({ lost: 0, isMore: false });
    expect([deliveries.pending(), deliveries.isCrowded(id, MOST_KEPT - 1), deliveries.isCrowded(id, MOST_KEPT)]).toEqual([20, true, false]);
    expect(deliveries.page(id, Number.MAX_SAFE_INTEGER, 1)[0]?.createdMs).toBe(HOUR_MS + MOST_KEPT + 29);
  });
});
