/** Weighs the operator's own records about a mailbox: which one decides, and for how long. Pure. */
import type { HeldEvidence, MailboxEvidence } from './types.ts';

const DAY_MS = 86_400_000;
/**
 * Days for which each kind of evidence decides. A delivery counts for the definition's 90 days, a verdict like a mail server's answer.
 * Senders suppress a hard bounce for good, but a provider may reassign the name after a year without use.
 */
export const HOLDS_DAYS = { delivered: 90, verified: 30, bounced: 365, found_dead: 30 } as const;
/** Clocks differ by less than this. Evidence from further in the future counts as undated. */
const MAX_CLOCK_SKEW_MS = DAY_MS;

/** The evidence that decides, and the newest of the outdated evidence. */
interface Weighed {
  readonly held: HeldEvidence | null;
  readonly outdated: MailboxEvidence | null;
}

/**
 * Newer evidence outranks older: bad evidence ends earlier good evidence, and good evidence clears earlier bad evidence, current or not.
 * Bad evidence wins at the same time.
 * @param maxAgeS evidence older than this does not decide; null for no limit. @param nowMs epoch milliseconds
 */
export function weigh(recorded: readonly MailboxEvidence[], maxAgeS: number | null, nowMs: number): Weighed {
  const timed = recorded.map(({ kind, atMs }) => ({
    kind,
    atMs: atMs === null || atMs > nowMs + MAX_CLOCK_SKEW_MS ? null : Math.min(atMs, nowMs),
  }));
  const newestFirst = timed.sort(
    (one, other) => (other.atMs ?? -Infinity) - (one.atMs ?? -Infinity) || Number(isBad(other)) - Number(isBad(one)),
  );
  const [newest] = newestFirst;
  const firstContrary = newestFirst.findIndex((one) => newest !== undefined && isBad(one) !== isBad(newest));
  const unrefuted = firstContrary === -1 ? newestFirst : newestFirst.slice(0, firstContrary);
  const current = unrefuted.flatMap(({ kind, atMs }): HeldEvidence[] => {
    const untilMs = atMs === null ? -Infinity : atMs + HOLDS_DAYS[kind] * DAY_MS;
    return atMs === null || untilMs < nowMs || nowMs - atMs > (maxAgeS ?? Infinity) * 1_000 ? [] : [{ kind, atMs, untilMs }];
  });
  // A delivery or bounce outranks a verdict, even a newer one.
  const held = current.find(({ kind }) => kind === 'delivered' || kind === 'bounced') ?? current[0] ?? null;
  return { held, outdated: held === null ? (newest ?? null) : null };
}

function isBad({ kind }: Pick<MailboxEvidence, 'kind'>): boolean {
  return kind === 'bounced' || kind === 'found_dead';
}

/** The result and detail of the evidence check: `delivered` with its day, or `outdated` with the reason. */
export function describeEvidence({ held, outdated }: Weighed, nowMs: number): { readonly result: string; readonly detail: string | null } {
  if (held !== null) return { result: held.kind, detail: dayOf(held.atMs) };
  if (outdated === null) return { result: 'none', detail: null };
  const { kind, atMs } = outdated;
  if (atMs === null) return { result: 'outdated', detail: `${kind}, of no known day` };
  const limit = HOLDS_DAYS[kind];
  return {
    result: 'outdated',
    detail: `${kind} ${dayOf(atMs)}, ${nowMs - atMs > limit * DAY_MS ? `more than ${limit} days ago` : 'longer ago than was asked for'}`,
  };
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
