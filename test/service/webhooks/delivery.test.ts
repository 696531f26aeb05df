import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { announce, HOUR_MS, states, subscribe, World } from './processes.ts';
import { Receiver, type Reaction } from './receiver.ts';

describe('an attempt that fails', () => {
  it('an attempt that fails is repeated after 5 s, 5 m, 30 m, 2, 5, 10, 14, 20 and 24 h with the same id and body', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = 500;
    const delays: number[] = [];
    const id = await world.live(async (process) => {
      const webhook = subscribe(process, receiver.url());
      announce(process, 1);
      await receiver.count(1);
      return webhook;
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
    const timestamps = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']));
    expect(timestamps.at(-1)).toBe(Math.floor(world.nowMs / 1_000));
  });

  it('with Retry-After waits that long, pauses other deliveries to the host, and limits the host to one attempt at a time', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.reactions = [(response) => response.writeHead(503, { 'retry-after': '3600' }).end()];
    receiver.usual = () => undefined;
    const process = world.start();
    const id = subscribe(process, receiver.url());
    announce(process, 0);
    await receiver.count(1);
    while (process.hooks.deliveries.page(id, Number.MAX_SAFE_INTEGER, 1)[0]?.lastStatus !== 503) await setImmediate();
    expect(process.hooks.deliveries.page(id, Number.MAX_SAFE_INTEGER, 1)[0]).toMatchObject({
      state: 'pending',
      nextMs: world.nowMs + HOUR_MS,
    });
    transaction(process.store.books, () => {
      for (let n = 1; n <= 5; n++) announce(process, n);
    });
    await process.hooks.dispatcher.sendDue();
    world.nowMs += HOUR_MS - 1;
    await process.hooks.dispatcher.sendDue();
    expect([receiver.received.length, process.hooks.deliveries.isAnyDue(world.nowMs)]).toEqual([1, true]);
    world.nowMs += 1;
    process.hooks.wake();
    await receiver.count(2);
    await process.hooks.dispatcher.sendDue();
    // One of the five is under way; the other four are not claimed.
    expect(process.hooks.deliveries.isAnyDue(world.nowMs)).toBe(true);
    receiver.usual = 200;
    receiver.server.closeAllConnections();
  });

  it('an attempt that fails is repeated soon after a clock that was ahead is corrected', async () => {
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
    ['a redirect, which it does not follow', (response) => response.writeHead(307, { location: '/elsewhere' }).end(), 307],
    ['a closed connection', (response) => response.destroy(), 'connection_failed'],
    [
      'an interim answer without a final one',
      (response) => {
        response.writeProcessing();
        response.destroy();
      },
      'connection_failed',
    ],
    ['a server error', 503, 503],
  ])('fails on %s', async (_name, reaction, lastResult) => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = reaction;
    const id = await world.live(async (process) => {
      const webhook = subscribe(process, receiver.url());
      announce(process, 1);
      await receiver.count(1);
      return webhook;
    });
    expect(states(world.start(), id)).toEqual([['pending', 1, lastResult]]);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook']);
  });
});

describe('an attempt', () => {
  it('reads only a bounded part of an endless body', async () => {
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
      const webhook = subscribe(process, receiver.url());
      announce(process, 1);
      await closed.promise;
      closed = Promise.withResolvers();
      return webhook;
    });
    expect(states(world.start(), id)).toEqual([['delivered', 1, 200]]);
  });
});
