import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { normalisedFiles, messagesFrom } from '../../../../src/service/admin/import/normalised-files.ts';
import type { ThreadTask } from '../../../../src/service/admin/import/thread-messages.ts';
import { MillraceError } from '../../../../src/util/errors.ts';
import { exportRecords } from '../../../../src/service/admin/export/export-records.ts';
import type { Rejection } from '../../../../src/service/admin/import/import-counts.ts';
import { storeRows } from '../../../../src/service/admin/import/store-rows.ts';
import { suppress } from '../../../../src/service/erasure/suppress.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { temporaryFolder } from '../../harness.ts';
import { emptyStore } from '../../loading.ts';

const NOW = Date.parse('2026-06-01');
const ROWS = 12_000;
const task = (uri: string) =>
  ({
    kind: 'contacts',
    uri,
    shape: { format: null, delimiter: null, encoding: null },
    columns: new Map(),
    asOfMs: NOW,
    nowMs: NOW,
  }) as const;

/** A worker that posts messages, and the expected outcome. */
const threadThat = (ends: string): URL =>
  new URL(
    'data:text/javascript,' +
      encodeURIComponent(
        `import { parentPort } from 'node:worker_threads'; for (const name of ['a', ` +
          `'b']) parentPort.postMessage({ type: 'file', name, header: [] }); ${ends}`,
      ),
  );
const dummy: ThreadTask = { ...task('none'), spooled: null, shared: new Int32Array(new SharedArrayBuffer(8)) };

async function saidBy(thread: URL, signal = new AbortController().signal): Promise<{ names: string[]; error: unknown }> {
  const names: string[] = [];
  try {
    for await (const message of messagesFrom(thread, dummy, signal)) names.push(message.type === 'file' ? message.name : message.type);
  } catch (error) {
    return { names, error };
  }
  return { names, error: null };
}

/** Every seventh row is bad, for one of four reasons in turn. */
function linesOf(rows: number): { lines: string[]; rejected: [line: number, code: string][] } {
  const rejected: [number, string][] = [];
  const lines = Array.from({ length: rows }, (_, index) => {
    if (index % 7 !== 3) return JSON.stringify({ email: `ada.${index}@works-${index % 90}.example`, name: `Ada ${index}`, title: 'CTO' });
    const [code = '', line = ''] =
      [
        ['bad_row', '{"email":'],
        ['bad_email', '{"email":"nobody"}'],
        ['suppressed', '{"email":"gone@acme.example"}'],
        ['no_identity', '{"title":"CTO"}'],
      ][index % 4] ?? [];
    rejected.push([index + 1, code]);
    return line;
  });
  return { lines, rejected };
}

async function importInto(
  store: Store,
  path: string,
  signal: AbortSignal,
  onReject: (rows: readonly Rejection[]) => void,
  onBatch: (number: number) => void = () => undefined,
): Promise<void> {
  for await (const file of normalisedFiles(task(path), signal)) {
    let number = 0;
    const batches = async function* () {
      for await (const batch of file.batches) {
        onBatch(++number);
        yield batch;
      }
    };
    await storeRows(store, { ...file, batches: batches() }, { nowMs: NOW, signal, onReject });
  }
}

describe('the worker thread of an import', () => {
  it.each([
    ['throws', 'throw new TypeError("out of order")', 'out of order'],
    [
      'posts a message that cannot be deserialised',
      'let deep = []; for (let level = 0; level < 6000; level++) deep = [deep]; parentPort.postMessage({ type: "file", name: "c", ' +
        'header: deep }); parentPort.postMessage({ type: "file", name: "d", header: [] })',
      'the thread that reads',
    ],
    ['exits without a message', 'process.exit(3)', 'exit code 3'],
  ])('when the worker %s, rows that it had posted are stored, and the import fails with the reason', async (_what, ends, why) => {
    const { names, error } = await saidBy(threadThat(ends));
    expect(names).toEqual(['a', 'b']);
    expect(error).toBeInstanceOf(MillraceError);
    expect(error).toMatchObject({ exitCode: 70, code: 'thread_ended', message: expect.stringContaining(why) as string });
  });

  it('a row that is nested too deeply to be transferred is rejected, and its neighbours are stored', async () => {
    const path = join(await temporaryFolder(), 'deep.jsonl');
    const deep = (levels: number): string => `{"email":"ada@acme.example","skills":${'['.repeat(levels)}"Go"${']'.repeat(levels)}}`;
    await writeFile(path, ['{"email":"bob@acme.example"}', deep(5_000), deep(20_000), deep(99), '{"email":"eve@acme.example"}'].join('\n'));
    const store = await emptyStore();
    const rejected: Rejection[] = [];
    await importInto(store, path, new AbortController().signal, (rows) => rejected.push(...rows));
    expect(rejected).toMatchObject(
      [2, 3].map((line) => ({ line, code: 'bad_row', detail: expect.stringContaining('100 levels') as string })),
    );
    expect(store.prepare('SELECT count(*) AS n FROM people').get()).toEqual({ n: 3 });
    store.close();
  });

  it('an abort ends the worker in any state', async () => {
    const stop = new AbortController();
    const reason = new Error('stopped');
    const said = saidBy(
      threadThat(
        'setTimeout(() => parentPort.postMessage({ type: "file", name: "c", header: [] }), 0); for (;;) Atomics.wait(new ' +
          'Int32Array(new SharedArrayBuffer(4)), 0, 0);',
      ),
      stop.signal,
    );
    stop.abort(reason);
    expect((await said).error).toBe(reason);
  });

  it('errors of files arrive unchanged', async () => {
    const stop = new AbortController();
    await expect(
      importInto(await emptyStore(), join(await temporaryFolder(), 'none.csv'), stop.signal, () => undefined),
    ).rejects.toMatchObject({ name: 'MillraceError', exitCode: 65, code: 'input_missing', hint: expect.any(String) as string });
  });

  it('rows that were read before an error in their file arrive', async () => {
    const path = join(await temporaryFolder(), 'cut.jsonl.gz');
    const { lines } = linesOf(ROWS);
    await writeFile(path, Buffer.concat([gzipSync(`${lines.join('\n')}\n`), gzipSync('{}').subarray(0, -4)]));
    const store = await emptyStore();
    suppress(store, ['gone@acme.example'], 0);
    const rejected: Rejection[] = [];
    await expect(importInto(store, path, new AbortController().signal, (rows) => rejected.push(...rows))).rejects.toMatchObject({
      exitCode: 65,
    });
    expect([...exportRecords(store, 'contacts', true)].length + rejected.length).toBe(lines.length);
    store.close();
  });

  it('all rows arrive, the bad ones in their order; another import continues after an abort', async () => {
    const path = join(await temporaryFolder(), 'crm.jsonl');
    const { lines, rejected } = linesOf(ROWS);
    await writeFile(path, `${lines.join('\n')}\n`);
    const [whole, stopped] = [await emptyStore(), await emptyStore()];
    for (const store of [whole, stopped]) suppress(store, ['gone@acme.example'], 0);
    const told: [number, string][] = [];
    await importInto(whole, path, new AbortController().signal, (rows) =>
      told.push(...rows.map(({ line, code }): [number, string] => [line, code])),
    );
    expect(told).toEqual(rejected);

    const stop = new AbortController();
    const reason = new Error('stopped');
    await expect(
      importInto(
        stopped,
        path,
        stop.signal,
        () => undefined,
        (number) => void (number === 3 && stop.abort(reason)),
      ),
    ).rejects.toBe(reason);
    const stored = [...exportRecords(stopped, 'contacts', true)].length;
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(ROWS - rejected.length);
    await importInto(stopped, path, new AbortController().signal, () => undefined);
    expect([...exportRecords(stopped, 'contacts', true)]).toEqual([...exportRecords(whole, 'contacts', true)]);
    whole.close();
    stopped.close();
  });
});
