/** Puts made by number: each is a group of answers that must become durable together. */
import type { Ledger, LedgerEntry } from '../../src/ledger/ledger.ts';
import { seeded } from '../support/leads.ts';

/** How many answers group `group` holds: 1 to 40. */
export function groupSize(group: number): number {
  return 1 + Math.floor(seeded(group)() * 40);
}

/** The answers of one request, of 0 to 3 kB each: some groups fill several pages of the file. */
export function makeGroup(scope: number, group: number, prefix = 'g'): LedgerEntry[] {
  const random = seeded(group + 1);
  return Array.from({ length: groupSize(group) }, (_, i) => ({ scope, key: `${prefix}${group}-${i}`, answer: { kind: 'hit' as const, text: `"${group}-${i}-${'x'.repeat(Math.floor(random() * 3_000))}"` } }));
}

/** How many answers of a group are there; throws when one of them is not as it was put. */
export function foundOf(ledger: Ledger, scope: number, group: number, prefix = 'g'): number {
  let found = 0;
  for (const { key, answer } of makeGroup(scope, group, prefix)) {
    const there = ledger.get(scope, key);
    if (there === null) continue;
    if (JSON.stringify(there) !== JSON.stringify(answer)) throw new Error(`${key} is not as it was put`);
    found++;
  }
  return found;
}

/** How many groups are there, from the first on; throws when one is there by half, or after one that is not. */
export function wholeGroups(ledger: Ledger, scope: number, upTo: number, prefix = 'g'): number {
  let whole = 0;
  for (let group = 0; group < upTo; group++) {
    const found = foundOf(ledger, scope, group, prefix);
    if (found === 0) continue;
    if (found !== groupSize(group)) throw new Error(`${found} of ${groupSize(group)} answers of group ${group}`);
    if (group !== whole) throw new Error(`group ${group} is there, and group ${whole} is not`);
    whole++;
  }
  return whole;
}
