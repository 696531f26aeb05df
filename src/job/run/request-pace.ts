import { RequestSize } from '../../lookup/request-size.ts';
import type { RequestPace } from '../../lookup/step-context.ts';
import type { Notices } from '../progress/notices.ts';
import type { Counters } from './counters.ts';
import type { Step } from '../../steps/registry.ts';

interface RequestPaceOptions {
  readonly step: Step;
  /** Longest wait for an answer, milliseconds. */
  readonly timeoutMs: number;
  /** Lookups in a full request. */
  readonly largest: number;
  /** See `RequestSize`. */
  readonly isProven: boolean;
  readonly counters: Pick<Counters, 'requestSize'>;
  readonly notices: Pick<Notices, 'smallerRequests' | 'largerRequests'>;
  /** Makes all answers durable. @throws StorageError */
  readonly keepAnswers: () => Promise<void>;
  /** Writes a checkpoint with the totals of now. @throws StorageError */
  readonly keepTotals: () => Promise<void>;
  /** Ends the run. */
  readonly onFatal: (error: unknown) => void;
}

/** Adapts the size of a step's requests. Progress and report show it, and the checkpoint stores it. */
export function requestPace({
  step,
  timeoutMs,
  largest,
  isProven,
  counters,
  notices,
  keepAnswers,
  keepTotals,
  onFatal,
}: RequestPaceOptions): RequestPace {
  const counted = counters.requestSize(step);
  const sizes = new RequestSize({ largest, limitMs: timeoutMs, from: counted.kept, isProven });
  let told = sizes.size;
  const note = (isDone: boolean): void => {
    if (sizes.size > told && counted.tooLarge > 0) notices.largerRequests(step, sizes.size);
    told = sizes.size;
    counted.kept = isDone && sizes.isGuess ? null : sizes.kept;
  };
  const keep = async (withAnswers: boolean): Promise<void> => {
    if (withAnswers) await keepAnswers();
    note(false);
    await keepTotals();
  };
  return {
    sizes,
    limitMs: timeoutMs,
    tooLarge: (why, isSmaller) => {
      counted.tooLarge++;
      if (isSmaller) notices.smallerRequests(step, sizes.size, why);
    },
    note,
    keep: (withAnswers, then) => void keep(withAnswers).then(then, onFatal),
  };
}
