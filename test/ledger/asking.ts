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

/** `told` resolves with what the run is told. */
export function ask(ledger: RunLedger, key: string): { readonly told: Promise<LedgerAnswer | null>; isTold: () => boolean } {
  let isTold = false;
  const told = new Promise<LedgerAnswer | null>((resolve) => {
    ledger.ask(scopeOf(ledger), key, (answer) => {
      isTold = true;
      resolve(answer);
    });
  });
  return { told, isTold: () => isTold };
}

export function answer(ledger: RunLedger, key: string, told: LedgerAnswer = HIT): void {
  ledger.put([{ scope: scopeOf(ledger), key, answer: told }]);
}
