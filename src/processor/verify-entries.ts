/** The ledger entries of the verify step. */
import type { LedgerEntry } from '../ledger/ledger.ts';
import type { PendingMembers } from './pending-groups.ts';
import { withGroup, type PendingGroup } from './pending.ts';
import { writeNote, type RequestPart } from './request-parts.ts';
import type { SortedVerdicts } from './sort-verdicts.ts';
import type { VerifyBodies } from './verify-bodies.ts';
import type { VerifyOutcome } from './verify-outcome.ts';

export class VerifyEntries {
  readonly #scope: number;
  readonly #bodies: VerifyBodies;

  /** @param scope of the ledger */
  constructor(scope: number, bodies: VerifyBodies) {
    this.#scope = scope;
    this.#bodies = bodies;
  }

  /** Verdicts that are not final, with the group that polls for them. @param again whether the ledger has answers to them already */
  pending(group: PendingGroup, members: PendingMembers, again: boolean): LedgerEntry[] {
    return [...members].map(([key, { text }]) => ({
      scope: this.#scope,
      key,
      answer: { kind: 'unsettled', text: withGroup(text, group) },
      again,
    }));
  }

  /** The open parts of the same request, which the ledger must know together with the first answer to one of them. */
  notesOf(part: RequestPart): LedgerEntry[] {
    return part.takeUnnoted().flatMap(({ part: other, again }) => {
      const text = writeNote(other.note(this.#bodies.keyOf(other)));
      return other.keys.map((key): LedgerEntry => ({ scope: this.#scope, key, answer: { kind: 'asking', text }, again }));
    });
  }

  /** The verdicts of one request. @param group polls for those that are not final */
  verdicts({ final, pending, suppressed }: SortedVerdicts, group: PendingGroup, again: boolean): LedgerEntry[] {
    const entries: LedgerEntry[] = [];
    for (const [key, { record, text }] of final)
      entries.push({ scope: this.#scope, key, answer: { kind: record.result === 'unknown' ? 'unsettled' : 'hit', text }, again });
    entries.push(...this.pending(group, pending, again));
    for (const key of suppressed) entries.push({ scope: this.#scope, key, answer: { kind: 'suppressed' }, again });
    return entries;
  }

  /** The same outcome for all of them. */
  same(keys: readonly string[], answer: Exclude<VerifyOutcome, { kind: 'verdict' }>, again: boolean): LedgerEntry[] {
    return keys.map((key) => ({ scope: this.#scope, key, answer, again }));
  }
}
