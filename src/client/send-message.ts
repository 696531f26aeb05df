/** Sends one message over HTTP, with retries: not to the data service, but to a receiver that the user names. */
import { Redactor } from './redactor.ts';
import { parseRetryAfter } from './retry-after.ts';
import { Transport } from './transport.ts';
import { UndiciWire } from './undici-wire.ts';

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

/** Resolves to null when the message was taken, else to the reason, without the path of the URL. Never rejects. */
export async function sendMessage(url: string, body: string, options: SendOptions): Promise<string | null> {
  const { headers, withinMs, stop, env, random = Math.random } = options;
  const { origin, protocol, hostname, pathname, search } = new URL(url);
  const base = { origin, prefix: '', protocol: protocol as 'http:' | 'https:', hostname };
  const over = AbortSignal.timeout(withinMs);
  const end = stop === undefined ? over : AbortSignal.any([over, stop]);
  const endMs = performance.now() + withinMs;
  let reason = 'there was no time for it';
  let transport: Transport | null = null;
  try {
    const wire = new UndiciWire(base, { connections: 1, connectTimeoutMs: ANSWER_MS, env });
    transport = new Transport(wire, { timeoutMs: ANSWER_MS, maxResponseBytes: MOST_BYTES, redactor: new Redactor(null) });
    for (let attempt = 1; attempt <= ATTEMPTS && !end.aborted; attempt++) {
      const sent = { ...headers(Date.now()), 'content-type': 'application/json' };
      const request = { method: 'POST', path: pathname + search, headers: Object.entries(sent).flat(), body } as const;
      const { status, failure, meta } = await transport.send(request, { signal: end });
      // Its body does not matter, and may be too large.
      if (status >= 200 && status < 300) return null;
      if (status > 0) reason = `the answer was ${status}`;
      else if (failure !== null) reason = end.aborted ? 'no answer in time' : failure.detail;
      if (status !== 0 && !isTemporary(status)) return reason;
      const askedMs = parseRetryAfter(meta.headers['retry-after'], meta.headers['date'], Date.now()) ?? 0;
      // The receiver will not take it within the time that is left.
      if (performance.now() + askedMs >= endMs) return reason;
      if (attempt < ATTEMPTS) await pause(Math.max(askedMs, random() * FIRST_WAIT_MS * 2 ** attempt), end);
    }
  } catch (error) {
    reason = (error as Error).message;
  } finally {
    await transport?.destroy();
  }
  return reason;
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
