import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { importRows } from '../../../src/service/import/import-rows.ts';
import { HeldTransaction } from '../../../src/service/import/held-transaction.ts';
import type { PreparedBatch } from '../../../src/service/import/prepared-rows.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import { temporaryFolder } from '../harness.ts';
import { prepared } from '../loading.ts';

let [store, other]: Store[] = [];
const ours = (): Store => store as Store;
const theirs = (): Store => other as Store;

beforeEach(async () => {
  const path = `${await temporaryFolder()}/store.sqlite`;
  store = openStore(path);
  other = openStore(path, 5);
});
afterEach(() => {
  store?.close();
  other?.close();
});

describe('HeldTransaction', () => {
  let nowMs = 0;
  const held = (): HeldTransaction => {
    nowMs = 0;
    return new HeldTransaction(ours(), () => nowMs);
  };
  const lengthAt = async (transactions: HeldTransaction, atMs: number): Promise<number> => {
    nowMs = atMs;
    await transactions.begin();
    const length = transactions.leftMs;
    transactions.commit(() => undefined);
    return length;
  };

  it('is short until it is known that nobody else writes, and for a minute after somebody has', async () => {
    const transactions = held();
    expect(await lengthAt(transactions, 0)).toBe(300);
    expect(await lengthAt(transactions, 999)).toBe(300);
    expect(await lengthAt(transactions, 1_000)).toBe(1_200);
    suppress(theirs(), ['ada@acme.example'], 0);
    expect(await lengthAt(transactions, 2_000)).toBe(300);
    expect(await lengthAt(transactions, 61_999)).toBe(300);
    expect(await lengthAt(transactions, 62_000)).toBe(1_200);
  });

  it('does not take its own writes for those of somebody else', async () => {
    const transactions = held();
    for (let atMs = 0; atMs < 5; atMs++) {
      nowMs = atMs;
      await transactions.begin();
      transactions.commit(() => ours().exec(`INSERT INTO sources (name) VALUES ('${atMs}')`));
    }
    expect(await lengthAt(transactions, 1_000)).toBe(1_200);
  });

  it('leaves time for its end, as much as the one before took of its time, but never all', async () => {
    const transactions = held();
    for (const [rowsMs, endMs, next] of [[100, 0, 300], [100, 100, 150], [100, 25, 240], [1, 999, 75], [0, 0, 300]] as const) {
      nowMs = 0;
      await transactions.begin();
      nowMs = rowsMs;
      transactions.commit(() => {
        nowMs += endMs;
      });
      expect(await lengthAt(transactions, 0)).toBe(next);
    }
  });

  it('is nothing after it was undone', async () => {
    const transactions = held();
    await transactions.begin();
    ours().exec("INSERT INTO sources (name) VALUES ('crm.csv')");
    transactions.rollback();
    transactions.rollback();
    expect(transactions.isOpen).toBe(false);
    expect(ours().prepare("SELECT 1 FROM sources WHERE name = 'crm.csv'").all()).toEqual([]);
  });
});

describe('importing while others write', () => {
  const email = (index: number): string => `ada.${index}@acme.example`;
  const batch = (from: number, count: number): PreparedBatch => prepared(Array.from({ length: count }, (_, index) => ({ email: email(from + index) })));
  const run = (batches: AsyncGenerator<PreparedBatch>, signal = new AbortController().signal): Promise<unknown> => importRows(ours(), { name: 'crm.csv', header: [], batches, expect: () => undefined }, { nowMs: Date.parse('2026-06-01'), signal, onReject: () => undefined });
  const kept = (): unknown => theirs().prepare('SELECT count(*) AS n FROM people').get()?.['n'];

  it('lets them on when the next rows do not come', async () => {
    await run((async function* () {
      yield batch(0, 10);
      // Refused as long as the transaction is held.
      while (kept() !== 10) await new Promise((resolve) => setImmediate(resolve));
      suppress(theirs(), [email(12)], 0);
      yield batch(10, 10);
    })());
    expect(kept()).toBe(19);
  });

  it('keeps what came before a file came to a bad end, or the import was ended', async () => {
    await expect(run((async function* () {
      yield batch(0, 10);
      throw new Error('torn off');
    })())).rejects.toThrow('torn off');
    expect(kept()).toBe(10);
    const [stop, closed]: [AbortController, string[]] = [new AbortController(), []];
    await expect(run((async function* () {
      try {
        yield batch(10, 10);
        stop.abort(new Error('enough'));
        yield batch(20, 10);
        yield batch(30, 10);
      } finally {
        closed.push('the file');
      }
    })(), stop.signal)).rejects.toThrow('enough');
    expect(kept()).toBe(30);
    expect(closed).toEqual(['the file']);
  });

  it('lets go of the file also when the last rows cannot be kept', async () => {
    const closed: string[] = [];
    await expect(importRows(ours(), {
      name: 'crm.csv', header: [], expect: () => undefined,
      batches: (async function* () {
        try {
          yield batch(0, 10);
          ours().exec(`PRAGMA max_page_count = ${Number(ours().prepare('PRAGMA page_count').get()?.['page_count'])}`);
          yield batch(10, 3_000);
        } finally {
          closed.push('the file');
        }
      })(),
    }, { nowMs: Date.parse('2026-06-01'), signal: new AbortController().signal, onReject: () => undefined })).rejects.toThrow('full');
    expect(closed).toEqual(['the file']);
    await expect(importRows(ours(), {
      name: 'crm.csv', header: [],
      expect: () => {
        throw new Error('nobody listens');
      },
      batches: (async function* () {
        try {
          yield batch(0, 1);
          yield batch(1, 1);
        } finally {
          closed.push('another');
        }
      })(),
    }, { nowMs: Date.parse('2026-06-01'), signal: AbortSignal.abort(new Error('enough')), onReject: () => undefined })).rejects.toThrow('nobody listens');
    expect(closed).toEqual(['the file', 'another']);
  });
});
