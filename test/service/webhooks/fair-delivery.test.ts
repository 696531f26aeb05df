import { expect, it } from 'vitest';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { addDelivery, announce, HOUR_MS, states, subscribe, World } from './processes.ts';
import { Receiver } from './receiver.ts';

it('a receiver that does not answer does not delay other receivers of the key', async () => {
  const [world, dead, receiver] = [await World.make(), await Receiver.start(), await Receiver.start()];
  dead.usual = () => undefined;
  const process = world.start();
  subscribe(process, dead.url());
  transaction(process.store.books, () => {
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

it('a key with many receivers that do not answer does not delay other keys', async () => {
  const [world, receiver] = [await World.make(), await Receiver.start()];
  const dead = await Promise.all(Array.from({ length: 70 }, () => Receiver.start()));
  const process = world.start();
  const full = Promise.withResolvers<void>();
  let underWay = 0;
  for (const one of dead) one.usual = () => void (++underWay === 32 && full.resolve());
  transaction(process.store.books, () => {
    for (const [n, one] of dead.entries()) announce(process, n, one.url());
  });
  await full.promise;
  for (let n = 0; n < 50; n++) process.hooks.announce({ type: 'batch.completed', keyId: 'other', data: { n }, webhookUrl: receiver.url() });
  await receiver.count(50);
  expect(underWay).toBe(32);
  for (const one of dead) {
    one.usual = 200;
    one.server.closeAllConnections();
  }
});

it('a due delivery is sent soon, even among hundreds of hosts whose deliveries are due later', async () => {
  const [world, receiver] = [await World.make(), await Receiver.start()];
  // Without the poll loop this process polls only when it is woken.
  const process = world.start();
  transaction(process.store.books, () => {
    for (let n = 0; n < 400; n++)
      addDelivery(process, { to: { url: 'http://127.0.0.1:9' }, host: `0.${n}`, createdMs: world.nowMs + HOUR_MS });
    addDelivery(process, { to: { url: receiver.url() }, host: '1', createdMs: world.nowMs });
  });
  process.hooks.wake();
  await receiver.count(1);
});

it('a receiver that answers only one of two keys stays fast for that key', async () => {
  const [world, receiver] = [await World.make(), await Receiver.start()];
  const process = world.start();
  receiver.usual = (response, { path }) => void (path === '/fast' && response.end());
  const received = (path: string): number => receiver.received.filter((one) => one.path === path).length;
  transaction(process.store.books, () => {
    for (let n = 0; n < 100; n++) announce(process, n, receiver.url('/dead'));
  });
  await receiver.count(8);
  for (let n = 0; n < 50; n++)
    process.hooks.announce({ type: 'batch.completed', keyId: 'other', data: { n }, webhookUrl: receiver.url('/fast') });
  await receiver.count(58);
  expect([received('/dead'), received('/fast')]).toEqual([8, 50]);
  receiver.usual = 200;
  receiver.server.closeAllConnections();
});
