/** Starts the worker thread of an import, which parses, maps and normalises rows, so that the main thread only writes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { EXIT, MillraceError } from '../../../util/errors.ts';
import { spool } from '../../../sources/stdin-spool.ts';
import type { NormalisedFile } from './store-rows.ts';
import { decodeBatch } from './encode-batch.ts';
import type { NormalisedBatch } from './normalise-rows.ts';
import { EXPECTS_NEW, fromFailure, FREE_SLOTS, toFailure, type FromThread, type ThreadTask } from './thread-messages.ts';
import { assert } from '../../../util/assert.ts';

/** The worker file has the extension of this file: `.ts` in the source tree, `.js` when built. */
const THREAD = new URL(`import-thread${extname(import.meta.url)}`, import.meta.url);
/** How many messages the worker may prepare in advance: those of the next transaction, while one is written. */
const READ_AHEAD = 6;

export type ImportTask = Omit<ThreadTask, 'spooled' | 'shared'>;

/**
 * Each file with its normalised rows. `-` is standard input, which is first spooled to a temporary file, because its format must be
 * detected.
 */
export async function* normalisedFiles(task: ImportTask, signal: AbortSignal): AsyncGenerator<NormalisedFile, void, void> {
  const scratch = task.uri === '-' ? await mkdtemp(join(tmpdir(), 'millrace-import-')) : null;
  try {
    const spooled = scratch === null ? null : join(scratch, 'stdin');
    if (spooled !== null) await spool(process.stdin, spooled, signal);
    const shared = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
    shared[FREE_SLOTS] = READ_AHEAD;
    shared[EXPECTS_NEW] = 1;
    yield* filesOf(messagesFrom(THREAD, { ...task, spooled, shared }, signal), (isNew) =>
      Atomics.store(shared, EXPECTS_NEW, isNew ? 1 : 0),
    );
  } finally {
    if (scratch !== null) await rm(scratch, { recursive: true, force: true });
  }
}

type Message = Exclude<FromThread, { readonly type: 'end' | 'failed' }>;

/**
 * The messages of the worker thread until `end`. Closing the generator terminates the thread.
 * @throws the thread's error; MillraceError when the thread died
 */
export async function* messagesFrom(thread: URL, task: ThreadTask, signal: AbortSignal): AsyncGenerator<Message, void, void> {
  const worker = new Worker(thread, { workerData: task });
  const received: FromThread[] = [];
  let died: unknown = null;
  let hasEnded = false;
  let wake = (): void => undefined;
  worker.on('message', (message: FromThread) => {
    received.push(message);
    wake();
  });
  // A message that cannot be deserialised would be lost silently, and its slot with it.
  worker.on('messageerror', (error) => {
    received.push({ type: 'failed', failure: toFailure(deathOf(error)) });
    wake();
  });
  worker.on('error', (error) => {
    died = error;
  });
  worker.on('exit', (code) => {
    died ??= new Error(`it ended by itself, with exit code ${code}`);
    // Throws only after all messages have arrived. An error event may overtake them.
    hasEnded = true;
    wake();
  });
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort);
  try {
    for (;;) {
      signal.throwIfAborted();
      const message = received.shift();
      if (message === undefined) {
        if (hasEnded) throw deathOf(died);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if (message.type === 'end') return;
      if (message.type === 'failed') throw fromFailure(message.failure);
      Atomics.add(task.shared, FREE_SLOTS, 1);
      Atomics.notify(task.shared, FREE_SLOTS);
      yield message;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}

function deathOf(cause: unknown): MillraceError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new MillraceError(
    EXIT.bug,
    'thread_ended',
    `the thread that reads the files has ended: ${code === undefined ? '' : `${code}: `}${message}`,
    {
      hint:
        'What was imported is kept. Run the same command again; if it ends again, give it more memory ' +
        '(NODE_OPTIONS=--max-old-space-size=4096) or smaller files, and report it.',
      cause,
    },
  );
}

/** Groups messages by file: a `file` message, then its batches. */
async function* filesOf(
  messages: AsyncGenerator<Message, void, void>,
  expect: NormalisedFile['expect'],
): AsyncGenerator<NormalisedFile, void, void> {
  try {
    let next = await messages.next();
    while (next.done !== true) {
      assert(next.value.type === 'file', 'rows follow the name of their file');
      const { name, header } = next.value;
      let share: number | null = null;
      const batches = async function* (): AsyncGenerator<NormalisedBatch, void, void> {
        for (next = await messages.next(); next.done !== true && next.value.type === 'batch'; next = await messages.next()) {
          ({ share } = next.value);
          yield decodeBatch(next.value.batch);
        }
      };
      yield { name, header, batches: batches(), share: () => share, expect };
    }
  } finally {
    await messages.return();
  }
}
