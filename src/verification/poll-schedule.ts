/** Polls verdicts that are not final: a mail server that says "later" is asked again when it allows. */
import type { EmailVerification, VerifyRequest } from './types.ts';
import type { Verifier } from './verifier.ts';

export interface PollOptions {
  /** The total time to wait, milliseconds. 0: poll never. */
  readonly pollForMs: number;
  /** Wall clock, epoch milliseconds. `retry_at` is compared with it. */
  readonly now: () => number;
  /** Milliseconds. */
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly onWait: (addresses: number, waitMs: number) => void;
}

/** The shortest wait, in case clocks differ. */
const MIN_WAIT_MS = 1_000;
/** Addresses that are due within this time of the first are polled together. */
const BATCH_WITHIN_MS = 5_000;

/** A result for each address, in order, as `verify` gives them. Addresses that are due after the deadline are not polled. */
export async function verifyAndPoll(
  verifier: Pick<Verifier, 'verify'>,
  emails: readonly string[],
  request: VerifyRequest,
  { pollForMs, now, sleep, onWait }: PollOptions,
): Promise<EmailVerification[]> {
  const results = new Map<string, EmailVerification>();
  const ask = async (some: readonly string[]): Promise<void> => {
    for (const result of await verifier.verify(some, request)) results.set(result.email, result);
  };
  await ask([...new Set(emails)]);
  for (let leftMs = pollForMs; leftMs > 0;) {
    const nowMs = now();
    const waiting = [...results.values()].flatMap(({ email, result, retry_at: at }) =>
      result !== 'unknown' || at === null ? [] : [{ email, waitMs: Math.max(MIN_WAIT_MS, Date.parse(at) - nowMs) }],
    );
    const inTime = waiting.filter(({ waitMs }) => waitMs <= leftMs);
    const first = Math.min(...inTime.map(({ waitMs }) => waitMs));
    const due = inTime.filter(({ waitMs }) => waitMs <= first + BATCH_WITHIN_MS);
    if (due.length === 0) break;
    const waitMs = Math.max(...due.map((one) => one.waitMs));
    onWait(due.length, waitMs);
    await sleep(waitMs);
    leftMs -= waitMs;
    await ask(due.map(({ email }) => email));
  }
  return emails.map((email) => results.get(email) as EmailVerification);
}
