import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { loadSignals } from '../../../src/service/store/rows/load.ts';
import { announce, HOUR_MS, recordingLog, states, subscribe, World } from './processes.ts';
import { Receiver } from './receiver.ts';

describe('a store that cannot be read', () => {
  it('does not crash the process at the tick of every second', async () => {
    const { log, records } = recordingLog();
    const every = vi.spyOn(globalThis, 'setInterval');
    const { hooks } = (await World.make()).start({ log });
    hooks.start();
    const tick = every.mock.calls.find(([, everyMs]) => everyMs === 1_000)?.[0] as () => void;
    every.mockRestore();
    let isUnreadable = false;
    const isAnyDue = hooks.deliveries.isAnyDue.bind(hooks.deliveries);
    hooks.deliveries.isAnyDue = (nowMs) => {
      if (isUnreadable) throw new Error('disk I/O error');
      return isAnyDue(nowMs);
    };
    // A tick asks for due deliveries only when nothing else is to be done.
    while (records.length === 0) {
      isUnreadable = true;
      tick();
      isUnreadable = false;
      await setImmediate();
    }
    expect(records).toEqual([{ event: 'webhooks_failed', error: 'disk I/O error' }]);
  });

  it('still delivers the others when one body is damaged', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const { log, records } = recordingLog();
    const process = world.start({ log });
    transaction(process.store.books, () => {
      announce(process, 1, receiver.url('/broken'));
      process.store.books.exec("UPDATE webhook_deliveries SET body = x'00'");
      announce(process, 2, receiver.url());
    });
    const [delivery] = await receiver.count(1);
    await process.end();
    const after = world.start();
    // The damaged delivery is given up. Otherwise it would be tried and logged every minute.
    expect([delivery?.body.data['n'], states(after, 'k'), after.hooks.deliveries.pending()]).toEqual([
      2,
      [
        ['delivered', 1, 200],
        ['failed', 0, 'unreadable'],
      ],
      0,
    ]);
    expect(records.filter(({ state }) => state === 'failed')).toMatchObject([{ event: 'webhook_delivery', error: 'unreadable' }]);
  });

  it('still serves the other webhooks when one webhook is damaged', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    const { log, records } = recordingLog();
    await world.live(
      async (process) => {
        const broken = subscribe(process, receiver.url('/broken'), ['funding.round']);
        subscribe(process, receiver.url('/signals'), ['funding.round']);
        subscribe(process, receiver.url('/batches'));
        process.store.books.prepare("UPDATE webhooks SET filter = '{' WHERE id = ?").run(broken);
        loadSignals(process.store, [{ id: 's1', type: 'funding', domain: 'acme.example', occurred_at: '2026-01-01' }], 'crm');
        announce(process, 1);
        expect(new Set((await receiver.count(2)).map(({ path }) => path))).toEqual(new Set(['/signals', '/batches']));
        // Reads the damaged webhook again.
        process.hooks.changed();
        announce(process, 2);
        await receiver.count(3);
      },
      { log },
    );
    expect(records.filter(({ event }) => event === 'webhooks_failed')).toMatchObject([
      { error: expect.stringContaining('JSON') as unknown },
    ]);
  });

  it('does not crash the process during an attempt: the delivery is tried again when its claim ends', async () => {
    const [world, receiver] = [await World.make(), await Receiver.start()];
    let failures = 1;
    const digestsOf = (): Buffer[] => {
      if (failures-- > 0) throw new Error('disk I/O error');
      return [Buffer.alloc(32)];
    };
    const { log, records } = recordingLog();
    await world.live(
      async (process) => {
        const url = receiver.url();
        announce(process, 1, url);
        announce(process, 2, url);
        await receiver.count(1);
      },
      {
        keys: { digestsOf },
        log,
      },
    );
    expect(records.filter(({ event }) => event === 'webhooks_failed')).toEqual([{ event: 'webhooks_failed', error: 'disk I/O error' }]);
    world.nowMs += HOUR_MS;
    await world.live(() => receiver.count(2));
    expect(new Set(receiver.received.map(({ body }) => body.data['n']))).toEqual(new Set([1, 2]));
  });
});
