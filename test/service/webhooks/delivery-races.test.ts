import { describe, expect, it } from 'vitest';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { announce, HOUR_MS, states, subscribe, World } from './processes.ts';
import { Receiver } from './receiver.ts';

describe('an attempt', () => {
  it('does not undo a redelivery that was requested while it was under way', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const held = Promise.withResolvers<() => void>();
    receiver.reactions = [500, (response) => held.resolve(() => void response.writeHead(500).end()), 200];
    const id = await world.live(async (process) => {
      const webhook = subscribe(process, receiver.url());
      announce(process, 1);
      await receiver.count(1);
      return webhook;
    });
    world.nowMs += HOUR_MS;
    await world.live(async ({ hooks, store }) => {
      const answer = await held.promise;
      const [delivery] = hooks.deliveries.page(id, Number.MAX_SAFE_INTEGER, 1);
      expect(delivery?.attempts).toBe(1);
      transaction(store.books, () => hooks.deliveries.sendAgain(delivery?.id ?? '', world.nowMs));
      answer();
      await receiver.count(3);
    });
    expect(states(world.start(), id)).toEqual([['delivered', 1, 200]]);
  });

  it.each([200, 410])('does not undo a redelivery that was requested during the first attempt, which is answered %i', async (status) => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const held = Promise.withResolvers<() => void>();
    receiver.reactions = [(response) => held.resolve(() => void response.writeHead(status).end())];
    const process = world.start();
    announce(process, 1, receiver.url());
    const answer = await held.promise;
    const [delivery] = process.hooks.deliveries.page('k', Number.MAX_SAFE_INTEGER, 1);
    transaction(process.store.books, () => process.hooks.deliveries.sendAgain(delivery?.id ?? '', world.nowMs));
    answer();
    await receiver.count(2);
    await process.end();
    expect(states(world.start(), 'k')).toEqual([['delivered', 1, 200]]);
  });

  it.each<[number, unknown]>([
    [500, ['failed', 0, 'webhook_disabled']],
    [200, ['delivered', 1, 200]],
  ])('an attempt that is answered %i is not repeated if its webhook was disabled meanwhile', async (status, wanted) => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const held = Promise.withResolvers<() => void>();
    receiver.reactions = [(response) => held.resolve(() => void response.writeHead(status).end())];
    const process = world.start();
    const id = subscribe(process, receiver.url());
    announce(process, 1);
    const answer = await held.promise;
    transaction(process.store.books, () => process.hooks.deliveries.giveUpAllOf(id, 'webhook_disabled'));
    answer();
    await process.end();
    expect(states(world.start(), id)).toEqual([wanted]);
  });

  it('does not settle a new delivery that reuses the row number of its deleted one', async () => {
    const [world, slow, receiver] = [await World.make(), await Receiver.start(), await Receiver.start()];
    const held = Promise.withResolvers<() => void>();
    slow.reactions = [(response) => held.resolve(() => void response.writeHead(200).end())];
    const process = world.start();
    announce(process, 1, slow.url());
    const answer = await held.promise;
    transaction(process.store.books, () => {
      process.hooks.deliveries.removeAllOf('k');
      process.hooks.announce({ type: 'batch.completed', keyId: 'other', data: { n: 2 }, webhookUrl: receiver.url() });
    });
    answer();
    await receiver.count(1);
    await process.end();
    expect(states(world.start(), 'other')).toEqual([['delivered', 1, 200]]);
  });

  it('an attempt is claimed for a minute while it is under way', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    receiver.usual = () => undefined;
    const process = world.start();
    const id = subscribe(process, receiver.url());
    announce(process, 1);
    await receiver.count(1);
    expect(process.hooks.deliveries.isAnyDue(world.nowMs + 59_000)).toBe(false);
    // The claim of a killed process ends after a minute.
    expect(process.hooks.deliveries.isAnyDue(world.nowMs + 60_000)).toBe(true);
    expect(states(process, id)).toEqual([['pending', 0, null]]);
    receiver.server.closeAllConnections();
  });

  it('an attempt is not repeated when a slow process releases a delivery that another process has settled', async () => {
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
    // The slow process releases its claim like this.
    const { deliveries, writes } = slow.hooks;
    await writes.write(() => deliveries.postpone(deliveries.page(id, Number.MAX_SAFE_INTEGER, 1)[0]?.id ?? '', world.nowMs));
    expect(deliveries.pending()).toBe(0);
    receiver.server.closeAllConnections();
  });
});

describe('an attempt that fails after a later attempt succeeded', () => {
  it('does not count as a failure of the webhook', async () => {
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

describe('a webhook that is deleted', () => {
  it('gets no delivery that was claimed in the same transaction', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const process = world.start();
    const { dispatcher, deliveries, rows, writes } = process.hooks;
    const id = subscribe(process, receiver.url());
    announce(process, 1);
    await Promise.all([
      dispatcher.sendDue(),
      writes.write(() => {
        rows.remove(id);
        deliveries.removeAllOf(id);
      }),
    ]);
    await process.end();
    expect(receiver.received).toEqual([]);
  });
});

it('two processes on one store send each delivery once', async () => {
  const [world, receiver] = [await World.make(), await Receiver.start()];
  const [one, other] = [world.start(), world.start()];
  subscribe(one, receiver.url());
  subscribe(one, receiver.url('/second'));
  other.hooks.changed();
  for (let n = 0; n < 200; n++)
    (n % 2 === 0 ? one : other).hooks.announce({ type: 'batch.completed', keyId: 'k', data: { n }, webhookUrl: null });
  await receiver.count(400);
  await Promise.all([one.end(), other.end()]);
  expect(receiver.received).toHaveLength(400);
  expect(new Set(receiver.received.map(({ path, body }) => `${path} ${String(body.data['n'])}`)).size).toBe(400);
  expect(world.start().hooks.deliveries.pending()).toBe(0);
});
