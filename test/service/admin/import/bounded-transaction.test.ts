import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { storeRows } from '../../../../src/service/admin/import/store-rows.ts';
import { BoundedTransaction } from '../../../../src/service/admin/import/bounded-transaction.ts';
import type { NormalisedBatch } from '../../../../src/service/admin/import/normalise-rows.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { suppress } from '../../../../src/service/erasure/suppress.ts';
import { temporaryFolder } from '../../harness.ts';
import { normalised } from '../../loading.ts';

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

describe('BoundedTransaction', () => {
  let nowMs = 0;
  const held = (): BoundedTransaction => {
    nowMs = 0;
    return new BoundedTransaction(ours(), () => nowMs);
  };
  const lengthAt = async (transactions: BoundedTransaction, atMs: number): Promise<number> => {
    nowMs = atMs;
    await transactions.begin();
    const length = transactions.leftMs;
    transactions.commit(() => undefined);
    return length;
  };

  it('a transaction is short until the import knows that nobody else writes, and for a minute after another write', async () => {
    const transactions = held();
    expect(await lengthAt(transactions, 0)).toBe(300);
    expect(await lengthAt(transactions, 999)).toBe(300);
    expect(await lengthAt(transactions, 1_000)).toBe(1_200);
    suppress(theirs(), ['ada@acme.example'], 0);
    expect(await lengthAt(transactions, 2_000)).toBe(300);
    expect(await lengthAt(transactions, 61_999)).toBe(300);
    expect(await lengthAt(transactions, 62_000)).toBe(1_200);
  });

  it('the own writes of the import do not count as those of another writer', async () => {
    const transactions = held();
    for (let atMs = 0; atMs < 5; atMs++) {
      nowMs = atMs;
      await transactions.begin();
      transactions.commit(() => ours().exec(`INSERT INTO sources (name) VALUES ('${atMs}')`));
    }
    expect(await lengthAt(transactions, 1_000)).toBe(1_200);
  });

  it('a transaction reserves time for its commit, by the share of the one before, but never all of its time', async () => {
    const transactions = held();
    for (const [rowsMs, endMs, next] of [
      [100, 0, 300],
      [100, 100, 150],
      [100, 25, 240],
      [1, 999, 75],
      [0, 0, 300],
    ] as const) {
      nowMs = 0;
      await transactions.begin();
      nowMs = rowsMs;
      transactions.commit(() => {
        nowMs += endMs;
      });
      expect(await lengthAt(transactions, 0)).toBe(next);
    }
  });

  it('a transaction has ended after its rollback', async () => {
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
  const batch = (from: number, count: number): NormalisedBatch =>
    normalised(Array.from({ length: count }, (_, index) => ({ email: email(from + index) })));
  const run = (batches: AsyncGenerator<NormalisedBatch>, signal = new AbortController().signal): Promise<unknown> =>
    storeRows(
      ours(),
      { name: 'crm.csv', header: [], batches, expect: () => undefined },
      { nowMs: Date.parse('2026-06-01'), signal, onReject: () => undefined },
    );
  const stored = (): unknown => theirs().prepare('SELECT count(*) AS n FROM people').get()?.['n'];

  it('other writers can write while the import waits for its next rows', async () => {
    await run(
      (async function* () {
        yield batch(0, 10);
        // Refused while the transaction is open.
        while (stored() !== 10) await new Promise((resolve) => setImmediate(resolve));
        suppress(theirs(), [email(12)], 0);
        yield batch(10, 10);
      })(),
    );
    expect(stored()).toBe(19);
  });

  it('rows that came before an error in a file, or before an abort, stay stored', async () => {
    await expect(
      run(
        (async function* () {
          yield batch(0, 10);
          throw new Error('torn off');
        })(),
      ),
    ).rejects.toThrow('torn off');
    expect(stored()).toBe(10);
    const [stop, closed]: [AbortController, string[]] = [new AbortController(), []];
    await expect(
      run(
        (async function* () {
          try {
            yield batch(10, 10);
            stop.abort(new Error('enough'));
            yield batch(20, 10);
            yield batch(30, 10);
          } finally {
            closed.push('the file');
          }
        })(),
        stop.signal,
      ),
    ).rejects.toThrow('enough');
    expect(stored()).toBe(30);
    expect(closed).toEqual(['the file']);
  });

  it('the input file is closed even when its last rows cannot be stored', async () => {
    const closed: string[] = [];
    await expect(
      storeRows(
        ours(),
        {
          name: 'crm.csv',
          header: [],
          expect: () => undefined,
          batches: (async function* () {
            try {
              yield batch(0, 10);
              ours().exec(`PRAGMA max_page_count = ${Number(ours().prepare('PRAGMA page_count').get()?.['page_count'])}`);
              yield batch(10, 3_000);
            } finally {
              closed.push('the file');
            }
          })(),
        },
        { nowMs: Date.parse('2026-06-01'), signal: new AbortController().signal, onReject: () => undefined },
      ),
    ).rejects.toThrow('full');
    expect(closed).toEqual(['the file']);
    ours().exec('PRAGMA max_page_count = 1000000');
    await expect(
      storeRows(
        ours(),
        {
          name: 'crm.csv',
          header: [],
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
        },
        { nowMs: Date.parse('2026-06-01'), signal: AbortSignal.abort(new Error('enough')), onReject: () => undefined },
      ),
    ).rejects.toThrow('nobody listens');
    expect(closed).toEqual(['the file', 'another']);
  });
});
