import { describe, expect, it } from 'vitest';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { announce, subscribe, World } from './processes.ts';
import { Receiver } from './receiver.ts';

it('an event of a rolled-back transaction is not sent, and an event of a committed one is', async () => {
  const [world, receiver] = [await World.make(), await Receiver.start()];
  await world.live(async (process) => {
    subscribe(process, receiver.url());
    expect(() =>
      transaction(process.store.books, () => {
        announce(process, 1);
        throw new Error('rolled back');
      }),
    ).toThrow('rolled back');
    transaction(process.store.books, () => {
      announce(process, 2, receiver.url('/by-request'));
      announce(process, 3, receiver.url());
    });
    await receiver.count(3);
  });
  expect(receiver.received.map(({ path, body }) => `${path} ${String(body.data['n'])}`).toSorted()).toEqual([
    '/by-request 2',
    '/hook 2',
    '/hook 3',
  ]);
});

describe('a collected event', () => {
  it('a collected event is written by the next flush of the journal, unless it is withdrawn before', async () => {
    const process = (await World.make()).start();
    subscribe(process, 'http://127.0.0.1:9');
    const collect = (id: string) => process.hooks.collect({ type: 'batch.completed', keyId: 'k', data: { id }, webhookUrl: null });
    collect('undone')();
    collect('withdrawn');
    collect('stays');
    process.hooks.withdraw(({ data }) => data['id'] === 'withdrawn');
    expect(process.hooks.pending).toBe(0);
    expect(process.journal.flush()).toBe(true);
    expect(process.hooks.pending).toBe(1);
  });
});
