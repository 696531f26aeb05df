import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { BATCH, MAX_DELIVERIES, pruneDeliveries } from '../../../src/service/webhooks/prune.ts';
import { newSecret } from '../../../src/service/webhooks/secrets.ts';
import { addDelivery, HOUR_MS, subscribe, World, type Process } from './processes.ts';

describe('pruning', () => {
  it('drops the oldest deliveries of a webhook beyond the limit, and counts the pending ones', async () => {
    const world = await World.make();
    const first = world.start();
    const id = subscribe(first, 'http://127.0.0.1:9');
    // More than one transaction drops.
    const more = BATCH + 37;
    transaction(first.store.books, () => {
      for (let n = 0; n < MAX_DELIVERIES + more; n++) addDelivery(first, { to: { webhookId: id }, createdMs: world.nowMs + HOUR_MS });
    });
    await first.end();
    await world.live(async (process) => {
      world.nowMs += 61_000;
      const counts: number[] = [];
      while (counts.at(-1) !== MAX_DELIVERIES) {
        process.hooks.wake();
        await setImmediate();
        const pending = process.hooks.deliveries.pending();
        if (pending !== counts.at(-1)) counts.push(pending);
      }
      await process.hooks.close();
      process.journal.flush();
      expect(counts.filter((count) => count < MAX_DELIVERIES + more)).toEqual([MAX_DELIVERIES + 37, MAX_DELIVERIES]);
      expect(process.hooks.rows.find(id, 'k')?.dropped).toBe(more);
      expect(process.hooks.dispatcher.counts.dropped).toBe(more);
    });
  });

  it('drops settled deliveries after 30 days, and no pending ones, even if the clock is ahead', async () => {
    const world = await World.make();
    const process = world.start();
    const { deliveries, rows, writes } = process.hooks;
    const id = subscribe(process, 'http://127.0.0.1:9');
    const daysMs = 24 * HOUR_MS;
    transaction(process.store.books, () => {
      for (const n of [1, 2, 3, 4]) addDelivery(process, { to: { webhookId: id }, createdMs: world.nowMs + n * daysMs });
      process.store.books
        .prepare("UPDATE webhook_deliveries SET state = 'delivered', next_at = NULL WHERE created_at <> ?")
        .run(world.nowMs + daysMs);
    });
    const pruneAfter = async (days: number): Promise<unknown> => {
      expect(await pruneDeliveries({ webhooks: rows, deliveries, writes }, world.nowMs + days * daysMs)).toEqual({
        lost: 0,
        isMore: false,
      });
      return deliveries.page(id, Number.MAX_SAFE_INTEGER, 100).map(({ createdMs, state }) => [(createdMs - world.nowMs) / daysMs, state]);
    };
    expect(await pruneAfter(33)).toEqual([
      [4, 'delivered'],
      [3, 'delivered'],
      [1, 'pending'],
    ]);
    expect(await pruneAfter(3_650)).toEqual([[1, 'pending']]);
  });

  it('checks only channels that grew since the last run, and all channels at the start', async () => {
    const world = await World.make();
    const add = (to: Process, channel: string): void =>
      addDelivery(to, { keyId: channel, to: { url: 'http://127.0.0.1:9' }, createdMs: world.nowMs });
    const before = world.start();
    for (const channel of ['a', 'b', 'b', 'c']) add(before, channel);
    await before.end();
    const process = world.start();
    const { deliveries, rows, writes } = process.hooks;
    const checked = async (): Promise<string[]> => {
      const channels = [...deliveries.grown];
      await pruneDeliveries({ webhooks: rows, deliveries, writes }, world.nowMs);
      return channels;
    };
    expect([await checked(), await checked()]).toEqual([['a', 'b', 'c'], []]);
    for (const channel of ['b', 'd']) add(process, channel);
    expect([await checked(), await checked()]).toEqual([['b', 'd'], []]);
  });

  it('runs at once after very many new deliveries', async () => {
    const world = await World.make();
    await world.live(async (process) => {
      const { hooks } = process;
      const id = subscribe(process, 'http://127.0.0.1:9');
      transaction(process.store.books, () => {
        for (let n = 0; n < MAX_DELIVERIES + 100; n++) addDelivery(process, { to: { webhookId: id }, createdMs: world.nowMs + HOUR_MS });
      });
      expect(hooks.deliveries.added).toBe(MAX_DELIVERIES + 100);
      // Pretends that the threshold is reached.
      hooks.deliveries.added = 50_000;
      hooks.wake();
      while (hooks.deliveries.pending() > MAX_DELIVERIES) await setImmediate();
      expect(hooks.deliveries.pending()).toBe(MAX_DELIVERIES);
    });
  });

  it('drops settled deliveries before older pending ones', async () => {
    const process = (await World.make()).start();
    const { deliveries, rows, writes } = process.hooks;
    const id = subscribe(process, 'http://127.0.0.1:9');
    transaction(process.store.books, () => {
      for (let n = 0; n < MAX_DELIVERIES + 30; n++) addDelivery(process, { to: { webhookId: id }, createdMs: HOUR_MS + n });
      // Only the oldest 20 stay pending.
      process.store.books
        .prepare("UPDATE webhook_deliveries SET state = 'delivered', next_at = NULL WHERE created_at >= ?")
        .run(HOUR_MS + 20);
    });
    expect(await pruneDeliveries({ webhooks: rows, deliveries, writes }, HOUR_MS)).toEqual({ lost: 0, isMore: false });
    expect([deliveries.pending(), deliveries.isCrowded(id, MAX_DELIVERIES - 1), deliveries.isCrowded(id, MAX_DELIVERIES)]).toEqual([
      20,
      true,
      false,
    ]);
    expect(deliveries.page(id, Number.MAX_SAFE_INTEGER, 1)[0]?.createdMs).toBe(HOUR_MS + MAX_DELIVERIES + 29);
  });
});

describe('a former secret', () => {
  it('a former secret is deleted when it expires', async () => {
    const world = await World.make();
    await world.live(async (process) => {
      const { hooks } = process;
      const [valid, expired] = [subscribe(process, 'http://127.0.0.1:9'), subscribe(process, 'http://127.0.0.1:9')];
      for (const [id, untilMs] of [
        [valid, world.nowMs + HOUR_MS],
        [expired, world.nowMs + 61_000],
      ] as const)
        hooks.rows.rotate(id, newSecret(), untilMs, world.nowMs);
      world.nowMs += 61_000;
      hooks.wake();
      while (hooks.rows.secrets(expired)?.former !== null) await setImmediate();
      expect(hooks.rows.secrets(valid)?.former).toHaveLength(32);
    });
  });
});
