/** The ledger of a provider that may serve sample data: its answers are stored as such, and later runs that use them say so. */
import { isFromSample, markedAsSample, type LedgerAnswer } from '../../ledger/answer.ts';
import type { StepContext } from '../../lookup/step-context.ts';

type StepLedger = StepContext['ledger'];

/**
 * @param isSample whether the provider has said that it serves sample data
 * @param onSample a kept answer of sample data is used
 */
export function withSampleAnswers(ledger: StepLedger, isSample: () => boolean, onSample: () => void): StepLedger {
  const used = <A extends LedgerAnswer | null>(answer: A): A => {
    if (answer !== null && isFromSample(answer)) onSample();
    return answer;
  };
  return {
    get: (scope, key) => used(ledger.get(scope, key)),
    ask: (scope, key, onAnswer, unfit) => ledger.ask(scope, key, (answer, seed, promised) => onAnswer(used(answer), seed, promised), unfit),
    release: (scope, keys) => ledger.release(scope, keys),
    put: (entries) => ledger.put(isSample() ? entries.map((entry) => ({ ...entry, answer: markedAsSample(entry.answer) })) : entries),
    promise: (entries) => ledger.promise(entries),
  };
}
