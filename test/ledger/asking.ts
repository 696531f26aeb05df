/** Asks and answers lookups through a `RunLedger`, as the processor's steps do. */
import type { LedgerAnswer } from '../../src/ledger/ledger.ts';
import type { LookupListener, RunLedger } from '../../src/ledger/run-ledger.ts';

export const HIT = { kind: 'hit', text: '{"name":"Ada"}' } as const;

const scopes = new WeakMap<RunLedger, number>();

export function scopeOf(ledger: RunLedger): number {
  const scope = scopes.get(ledger) ?? ledger.scope('https://api.example', 'enrich', 'by email');
  scopes.set(ledger, scope);
  return scope;
}

/**
 * `answered` resolves with a stored answer, or with null when this run must call. `seed`: the key seed of an earlier claimant, or null.
 * @param unfit see `RunLedger.ask`
 */
export function ask(
  ledger: RunLedger,
  key: string,
  unfit: string | null = null,
): { readonly answered: Promise<LedgerAnswer | null>; isAnswered: () => boolean; seed: () => string | null } {
  let isAnswered = false;
  let seed: string | null = null;
  const answered = new Promise<LedgerAnswer | null>((resolve) => {
    const hear: LookupListener = (answer, earlierSeed = null) => {
      isAnswered = true;
      seed = earlierSeed;
      resolve(answer);
    };
    ledger.ask(scopeOf(ledger), key, hear, unfit);
  });
  return { answered, isAnswered: () => isAnswered, seed: () => seed };
}

export function answer(ledger: RunLedger, key: string, value: LedgerAnswer = HIT): void {
  ledger.put([{ scope: scopeOf(ledger), key, answer: value }]);
}
