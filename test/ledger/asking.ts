/** A run that asks its ledger, as the steps do. */
import type { LedgerAnswer } from '../../src/ledger/ledger.ts';
import type { RunLedger } from '../../src/ledger/run-ledger.ts';

export const HIT = { kind: 'hit', text: '{"name":"Ada"}' } as const;

const scopes = new WeakMap<RunLedger, number>();

export function scopeOf(ledger: RunLedger): number {
  const scope = scopes.get(ledger) ?? ledger.scope('https://api.example', 'enrich', 'by email');
  scopes.set(ledger, scope);
  return scope;
}

/** `told` resolves with what the run is told; `seed` is what came with it, null for nothing. */
export function ask(ledger: RunLedger, key: string): { readonly told: Promise<LedgerAnswer | null>; isTold: () => boolean; seed: () => string | null } {
  let isTold = false;
  let seed: string | null = null;
  const told = new Promise<LedgerAnswer | null>((resolve) => {
    ledger.ask(scopeOf(ledger), key, (answer, ofAnother = null) => {
      isTold = true;
      seed = ofAnother;
      resolve(answer);
    });
  });
  return { told, isTold: () => isTold, seed: () => seed };
}

export function answer(ledger: RunLedger, key: string, told: LedgerAnswer = HIT): void {
  ledger.put([{ scope: scopeOf(ledger), key, answer: told }]);
}
