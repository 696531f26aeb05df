/** Files as the store's import takes them: found, told apart, read and made ready in a thread of their own, so that this one has nothing to do but to write. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { EXIT, MillraceError } from '../errors.ts';
import { spool } from '../reader/spool.ts';
import type { PreparedFile } from '../service/import/import-rows.ts';
import { unpacked } from '../service/import/packed-batch.ts';
import type { PreparedBatch } from '../service/import/prepared-rows.ts';
import { EXPECTS_NEWS, fromFailure, ROOM, toFailure, type FromThread, type ThreadTask } from './import-messages.ts';

/** As this file is called: with its types, or built. */
const THREAD = new URL(`import-thread${extname(import.meta.url)}`, import.meta.url);
/** Messages that may be ready before they are asked for: those of the next transaction, while one is written. */
const AHEAD = 6;

/** `-` is standard input, which is kept in the temporary directory while it is read: what it is must be found out first. */
export async function* importFiles(task: Omit<ThreadTask, 'kept' | 'shared'>, signal: AbortSignal): AsyncGenerator<PreparedFile, void, void> {
  const scratch = task.uri === '-' ? await mkdtemp(join(tmpdir(), 'millrace-import-')) : null;
  try {
    const kept = scratch === null ? null : join(scratch, 'stdin');
    if (kept !== null) await spool(process.stdin, kept, signal);
    const shared = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
    shared[ROOM] = AHEAD;
    shared[EXPECTS_NEWS] = 1;
    yield* filesOf(messagesOf(THREAD, { ...task, kept, shared }, signal), (news) => Atomics.store(shared, EXPECTS_NEWS, news ? 1 : 0));
  } finally {
    if (scratch !== null) await rm(scratch, { recursive: true, force: true });
  }
}

type Message = Exclude<FromThread, { readonly type: 'end' | 'failed' }>;

/** What the thread says, until it says that this was all. The thread ends with whoever asks for no more. @throws what the thread failed with; MillraceError when it died */
export async function* messagesOf(thread: URL, task: ThreadTask, signal: AbortSignal): AsyncGenerator<Message, void, void> {
  const worker = new Worker(thread, { workerData: task });
  const said: FromThread[] = [];
  let died: unknown = null;
  let hasEnded = false;
  let wake = (): void => undefined;
  worker.on('message', (message: FromThread) => {
    said.push(message);
    wake();
  });
  // What cannot be put together again here would be missing without a word, and its room with it.
  worker.on('messageerror', (error) => {
    said.push({ type: 'failed', failure: toFailure(deathOf(error)) });
    wake();
  });
  worker.on('error', (error) => {
    died = error;
  });
  worker.on('exit', (code) => {
    died ??= new Error(`it ended by itself, with exit code ${code}`);
    // Only now is all heard that it had said: an error comes by another way, and may be sooner.
    hasEnded = true;
    wake();
  });
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort);
  try {
    for (;;) {
      signal.throwIfAborted();
      const message = said.shift();
      if (message === undefined) {
        if (hasEnded) throw deathOf(died);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if (message.type === 'end') return;
      if (message.type === 'failed') throw fromFailure(message.failure);
      Atomics.add(task.shared, ROOM, 1);
      Atomics.notify(task.shared, ROOM);
      yield message;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}

function deathOf(cause: unknown): MillraceError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new MillraceError(EXIT.bug, 'thread_ended', `the thread that reads the files has ended: ${code === undefined ? '' : `${code}: `}${message}`, {
    hint: 'What was imported is kept. Run the same command again; if it ends again, give it more memory (NODE_OPTIONS=--max-old-space-size=4096) or smaller files, and report it.',
    cause,
  });
}

/** One file after the other, each with the batches that follow it. */
async function* filesOf(messages: AsyncGenerator<Message, void, void>, expect: PreparedFile['expect']): AsyncGenerator<PreparedFile, void, void> {
  try {
    let next = await messages.next();
    while (next.done !== true) {
      if (next.value.type !== 'file') throw new Error('rows without a file');
      const { name, header } = next.value;
      const batches = async function* (): AsyncGenerator<PreparedBatch, void, void> {
        for (next = await messages.next(); next.done !== true && next.value.type === 'batch'; next = await messages.next()) yield unpacked(next.value.batch);
      };
      yield { name, header, batches: batches(), expect };
    }
  } finally {
    await messages.return();
  }
}
