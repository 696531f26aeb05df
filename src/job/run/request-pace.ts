import type { RequestPace } from '../../processor/step-context.ts';
import { RequestSize } from '../../processor/request-size.ts';
import { VERIFY_BATCH } from '../../processor/verify.ts';
import type { Counters } from './counters.ts';
import type { Notices } from '../progress/notices.ts';

interface RequestPaceOptions {
  /** Longest wait for an answer, milliseconds. */
  readonly timeoutMs: number;
  /** Addresses in a full request. */
  readonly largest?: number;
  readonly counters: Pick<Counters, 'verifySize' | 'verifyTooLarge'>;
  readonly notices: Pick<Notices, 'smallerRequests' | 'largerRequests'>;
  /** Makes all answers durable. @throws StorageError */
  readonly keepAnswers: () => Promise<void>;
  /** Writes a checkpoint with the totals of now. @throws StorageError */
  readonly keepTotals: () => Promise<void>;
  /** Ends the run. */
  readonly onFatal: (error: unknown) => void;
}

/** Adapts the size of verify requests. Progress and report show it, and the checkpoint stores it. */
export function requestPace({
  timeoutMs,
  largest = VERIFY_BATCH,
  counters,
  notices,
  keepAnswers,
  keepTotals,
  onFatal,
}: RequestPaceOptions): RequestPace {
  const sizes = new RequestSize({ largest, limitMs: timeoutMs, from: counters.verifySize });
  let told = sizes.size;
  const note = (isDone: boolean): void => {
    if (sizes.size > told && counters.verifyTooLarge > 0) notices.largerRequests(sizes.size);
    told = sizes.size;
    counters.verifySize = isDone && sizes.isGuess ? null : sizes.kept;
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
      counters.verifyTooLarge++;
      if (isSmaller) notices.smallerRequests(sizes.size, why);
    },
    note,
    keep: (withAnswers, then) => void keep(withAnswers).then(then, onFatal),
  };
}
