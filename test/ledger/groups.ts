/** Reproducible puts: group n is always the same answers, which must become durable together. */
import type { Ledger, LedgerEntry } from '../../src/ledger/ledger.ts';
import { seeded } from '../support/leads.ts';

/** The number of answers in a group, 1 to 40. */
export function groupSize(group: number): number {
  return 1 + Math.floor(seeded(group)() * 40);
}

/** The answers of one group, 0 to 3 kB each. Some groups fill several pages of the file. */
export function makeGroup(scope: number, group: number, prefix = 'g'): LedgerEntry[] {
  const random = seeded(group + 1);
  return Array.from({ length: groupSize(group) }, (_, i) => ({
    scope,
    key: `${prefix}${group}-${i}`,
    answer: { kind: 'hit' as const, text: `"${group}-${i}-${'x'.repeat(Math.floor(random() * 3_000))}"` },
  }));
}

/** Counts the answers of a group that the ledger holds. @throws when one differs from the answer that was put */
export function countFound(ledger: Ledger, scope: number, group: number, prefix = 'g'): number {
  let found = 0;
  for (const { key, answer } of makeGroup(scope, group, prefix)) {
    const stored = ledger.get(scope, key);
    if (stored === null) continue;
    if (JSON.stringify(stored) !== JSON.stringify(answer)) throw new Error(`the answer of ${key} differs from the one that was put`);
    found++;
  }
  return found;
}

/** Counts the complete groups from the first on. @throws when a group is incomplete, or follows a missing one */
export function countCompleteGroups(ledger: Ledger, scope: number, upTo: number, prefix = 'g'): number {
  let complete = 0;
  for (let group = 0; group < upTo; group++) {
    const found = countFound(ledger, scope, group, prefix);
    if (found === 0) continue;
    if (found !== groupSize(group)) throw new Error(`${found} of ${groupSize(group)} answers of group ${group}`);
    if (group !== complete) throw new Error(`the ledger holds group ${group}, but not group ${complete}`);
    complete++;
  }
  return complete;
}
