/** The step `verify` on a bench, and its outcomes as words. */
import type { LedgerEntry } from '../../src/ledger/ledger.ts';
import type { QuarantineState } from '../../src/lookup/miss-quarantine.ts';
import type { VerificationResult } from '../../src/client/types.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import { verifyStep, type VerifyStep } from '../../src/processor/verify.ts';
import { emailsIn, makeBench, type Bench } from './bench.ts';

export const SCOPE = 3;

export function makeStep(options: Partial<QuarantineState> & { batch?: number; pollForMs?: number } = {}): {
  bench: Bench;
  step: VerifyStep;
  ask: (email: string) => LookupOutcome<VerificationResult>[];
} {
  const bench = makeBench(options);
  const step = verifyStep(
    bench.context,
    { email: SCOPE },
    {
      pollForMs: options.pollForMs ?? 0,
      ...(options.batch === undefined ? {} : { batch: options.batch }),
    },
  );
  return {
    bench,
    step,
    ask: (email) => {
      const got: LookupOutcome<VerificationResult>[] = [];
      step.ask({ key: email, spelled: email }, (outcome) => got.push(outcome));
      return got;
    },
  };
}

export const addresses = (n: number): string[] => Array.from({ length: n }, (_, i) => `p${i}@example.com`);

export function inWords([outcome, ...more]: readonly LookupOutcome<VerificationResult>[]): string {
  if (outcome === undefined || more.length > 0) return `${more.length === 0 ? 0 : more.length + 1} outcomes`;
  return outcome.kind === 'hit' ? outcome.answer.record.result : outcome.kind === 'failed' ? outcome.code : outcome.kind;
}

/** The entries of the ledger, without those of requests in flight. */
export const answersIn = (bench: Bench): LedgerEntry[] => bench.kept.flat().filter(({ answer }) => answer.kind !== 'asking');

/** Answers calls until none is left. */
export function answerAll(bench: Bench, answer: (emails: readonly string[]) => Parameters<Bench['asked'][number]['settle']>[0]): number {
  let calls = 0;
  for (; bench.asked.length > 0; calls++) {
    const call = bench.next();
    call.settle(answer(emailsIn(call.body)));
  }
  return calls;
}
