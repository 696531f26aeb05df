/** What the operator's own records say about a mailbox, which of it holds, and for how long. Pure. */
import type { HeldEvidence, MailboxEvidence } from './types.ts';

const DAY_MS = 86_400_000;
/**
 * How many days each settles the answer. A delivery counts for the definition's 90 days; a verdict, good or bad, for as long as that of a mail server is current. Who sends mail suppresses a hard bounce for good,
 * but providers may give the name to somebody else after a year without use.
 */
export const HOLDS_DAYS = { delivered: 90, verified: 30, bounced: 365, found_dead: 30 } as const;
/** Clocks differ; what is of later than this is of no known time. */
const AHEAD_MS = DAY_MS;

/** What settles the answer, and of what is not current enough for that, the newest. */
export interface Weighed {
  readonly held: HeldEvidence | null;
  readonly outdated: MailboxEvidence | null;
}

/**
 * The newer outranks the older: bad news ends what was good before it, and whatever was good after bad news clears it, be either current or not. Of one time the bad news holds.
 * @param maxAgeS what is older than so many seconds settles nothing either; null: no matter. @param nowMs epoch milliseconds.
 */
export function weigh(recorded: readonly MailboxEvidence[], maxAgeS: number | null, nowMs: number): Weighed {
  const timed = recorded.map(({ kind, atMs }) => ({ kind, atMs: atMs === null || atMs > nowMs + AHEAD_MS ? null : Math.min(atMs, nowMs) }));
  const newestFirst = timed.sort((one, other) => (other.atMs ?? -Infinity) - (one.atMs ?? -Infinity) || Number(isBad(other)) - Number(isBad(one)));
  const [newest] = newestFirst;
  const turn = newestFirst.findIndex((one) => newest !== undefined && isBad(one) !== isBad(newest));
  const standing = turn === -1 ? newestFirst : newestFirst.slice(0, turn);
  const current = standing.flatMap(({ kind, atMs }): HeldEvidence[] => {
    const untilMs = atMs === null ? -Infinity : atMs + HOLDS_DAYS[kind] * DAY_MS;
    return atMs === null || untilMs < nowMs || nowMs - atMs > (maxAgeS ?? Infinity) * 1_000 ? [] : [{ kind, atMs, untilMs }];
  });
  // What became of a mail says more than a verdict, though that may be newer.
  const held = current.find(({ kind }) => kind === 'delivered' || kind === 'bounced') ?? current[0] ?? null;
  return { held, outdated: held === null ? (newest ?? null) : null };
}

function isBad({ kind }: Pick<MailboxEvidence, 'kind'>): boolean {
  return kind === 'bounced' || kind === 'found_dead';
}

/** What a check says of it: `delivered` and the day, or `outdated` and why. */
export function describeEvidence({ held, outdated }: Weighed, nowMs: number): { readonly result: string; readonly detail: string | null } {
  if (held !== null) return { result: held.kind, detail: dayOf(held.atMs) };
  if (outdated === null) return { result: 'none', detail: null };
  const { kind, atMs } = outdated;
  if (atMs === null) return { result: 'outdated', detail: `${kind}, of no known day` };
  const limit = HOLDS_DAYS[kind];
  return { result: 'outdated', detail: `${kind} ${dayOf(atMs)}, ${nowMs - atMs > limit * DAY_MS ? `more than ${limit} days ago` : 'longer ago than was asked for'}` };
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
