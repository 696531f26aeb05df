/** Sends one message over HTTP, with retries: not to the data service, but to a receiver that the user names. */
import type { Dispatcher } from 'undici';
import { openDispatcher } from './dispatcher.ts';
import { parseRetryAfter } from './retry-after.ts';

const ATTEMPTS = 5;
/** The longest wait for one answer, milliseconds. */
const ANSWER_MS = 10_000;
const FIRST_WAIT_MS = 1_000;
/** The most bytes of an answer that are read. */
const MOST_BYTES = 64 * 1024;

/** Statuses after which the same message may still be taken. */
const isTemporary = (status: number): boolean => status === 408 || status === 429 || status >= 500;

interface SendOptions {
  readonly headers: (atMs: number) => Record<string, string>;
  /** Milliseconds for all attempts together. */
  readonly withinMs: number;
  /** Gives the message up at once. */
  readonly stop?: AbortSignal;
  readonly env: NodeJS.ProcessEnv;
  readonly random?: () => number;
}

/** Resolves to null when the message was taken, else to the reason, without the URL. Never rejects. */
export async function sendMessage(url: string, body: string, options: SendOptions): Promise<string | null> {
  const { headers, withinMs, stop, env, random = Math.random } = options;
  const { origin, protocol, hostname, pathname, search } = new URL(url);
  const base = { origin, prefix: '', protocol: protocol as 'http:' | 'https:', hostname };
  const over = AbortSignal.timeout(withinMs);
  const end = stop === undefined ? over : AbortSignal.any([over, stop]);
  const endMs = performance.now() + withinMs;
  let reason = 'there was no time for it';
  let dispatcher: Dispatcher | null = null;
  try {
    dispatcher = openDispatcher(base, { connections: 1, timeoutMs: ANSWER_MS, connectTimeoutMs: ANSWER_MS }, env);
    for (let attempt = 1; attempt <= ATTEMPTS && !end.aborted; attempt++) {
      const answer = await post(dispatcher, origin, pathname + search, body, headers(Date.now()), end);
      if (answer.status >= 200 && answer.status < 300) return null;
      reason = answer.status === 0 ? answer.reason : `the answer was ${answer.status}`;
      if (answer.status !== 0 && !isTemporary(answer.status)) return reason;
      // The receiver will not take it within the time that is left.
      if (performance.now() + answer.askedMs >= endMs) return reason;
      if (attempt < ATTEMPTS) await pause(Math.max(answer.askedMs, random() * FIRST_WAIT_MS * 2 ** attempt), end);
    }
  } catch (error) {
    reason = (error as Error).message;
  } finally {
    await dispatcher?.destroy();
  }
  return reason;
}

interface Answer {
  /** 0 without an answer. */
  readonly status: number;
  readonly reason: string;
  /** The wait that the answer asks for. */
  readonly askedMs: number;
}

async function post(
  dispatcher: Dispatcher,
  origin: string,
  path: string,
  body: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    const answer = await dispatcher.request({
      origin,
      path,
      method: 'POST',
      body,
      headers: { ...headers, 'content-type': 'application/json' },
      signal,
    });
    await answer.body.dump({ limit: MOST_BYTES, signal });
    const { 'retry-after': asked, date } = answer.headers;
    return { status: answer.statusCode, reason: '', askedMs: parseRetryAfter(asked, date, Date.now()) ?? 0 };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { status: 0, reason: signal.aborted ? 'no answer in time' : (code ?? message), askedMs: 0 };
  }
}

function pause(ms: number, end: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    end.addEventListener('abort', done, { once: true });
    function done(): void {
      clearTimeout(timer);
      end.removeEventListener('abort', done);
      resolve();
    }
  });
}
