/** Verdicts that are not final, waited for: whoever's server says "later" is asked about again when it may be. */
import type { EmailVerification, VerifyRequest } from './types.ts';
import type { Verifier } from './verifier.ts';

export interface Patience {
  /** How long is waited in all, milliseconds; 0: not at all. */
  readonly patienceMs: number;
  /** Wall clock, epoch milliseconds: what `retry_at` is told by. */
  readonly now: () => number;
  /** Milliseconds. */
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly onWait: (addresses: number, waitMs: number) => void;
}

/** A server is not asked all the time, whatever the clocks say. */
const SOONEST_MS = 1_000;
/** Those whose time comes within so long of the first are asked about together. */
const TOGETHER_MS = 5_000;

/** A result for each address, in order, as `verify` gives them. Who would have to be waited for longer than patience lasts is not waited for. */
export async function verifyPatiently(verifier: Pick<Verifier, 'verify'>, emails: readonly string[], request: VerifyRequest, { patienceMs, now, sleep, onWait }: Patience): Promise<EmailVerification[]> {
  const results = new Map<string, EmailVerification>();
  const ask = async (some: readonly string[]): Promise<void> => {
    for (const result of await verifier.verify(some, request)) results.set(result.email, result);
  };
  await ask([...new Set(emails)]);
  for (let leftMs = patienceMs; leftMs > 0; ) {
    const nowMs = now();
    const waiting = [...results.values()].flatMap(({ email, result, retry_at: at }) => (result !== 'unknown' || at === null ? [] : [{ email, waitMs: Math.max(SOONEST_MS, Date.parse(at) - nowMs) }]));
    const inTime = waiting.filter(({ waitMs }) => waitMs <= leftMs);
    const first = Math.min(...inTime.map(({ waitMs }) => waitMs));
    const due = inTime.filter(({ waitMs }) => waitMs <= first + TOGETHER_MS);
    if (due.length === 0) break;
    const waitMs = Math.max(...due.map((one) => one.waitMs));
    onWait(due.length, waitMs);
    await sleep(waitMs);
    leftMs -= waitMs;
    await ask(due.map(({ email }) => email));
  }
  return emails.map((email) => results.get(email) as EmailVerification);
}
