/** The slowest requests of a job and those that were retried most, over all resumes. The report lists them. Pure. */
import type { SentCall } from '../pool/call-pool-options.ts';
import type { CallAnswer } from '../pool/call.ts';
import type { Step } from '../steps/registry.ts';

/** A request, by the record that it was made for. It holds no key, because a report holds no personal data. */
export interface NotableCall {
  /** Index into the manifest's files. */
  readonly file: number;
  /** The first line of the record; for a verify request that of its first address. */
  readonly line: number;
  readonly step: Step;
  /** Addresses of a verify request, else 1. */
  readonly keys: number;
  /** Its slowest attempt, milliseconds. */
  readonly latencyMs: number;
  /** How often it was sent. */
  readonly sent: number;
  /** The error code of its last attempt. Null when that was answered. */
  readonly code: string | null;
  /** The service's name for that attempt. */
  readonly requestId: string | null;
}

/** The form in the checkpoint, the most notable first. */
export interface NotableCalls {
  readonly slowest: readonly NotableCall[];
  readonly mostRetried: readonly NotableCall[];
}

/** Requests in each list. */
export const MOST_NOTED = 20;

export const NO_NOTABLE_CALLS: NotableCalls = { slowest: [], mostRetried: [] };

const slower = (one: NotableCall, other: NotableCall): number => other.latencyMs - one.latencyMs;
const retriedMore = (one: NotableCall, other: NotableCall): number => other.sent - one.sent || slower(one, other);

/** Collects both lists. An answer that is in neither costs two comparisons. */
export class NotableCallLog {
  #slowest: readonly NotableCall[];
  #mostRetried: readonly NotableCall[];
  /** The least of each full list. */
  #slowMs = 0;
  #timesSent = 1;

  constructor({ slowest, mostRetried }: NotableCalls = NO_NOTABLE_CALLS) {
    this.#slowest = slowest;
    this.#mostRetried = mostRetried;
    this.#raise();
  }

  answered(call: SentCall, result: CallAnswer<unknown>): void {
    const { slowestMs, attempt: sent } = call;
    if (slowestMs < this.#slowMs && sent <= this.#timesSent) return;
    if (call.origin === null || (result.kind === 'retryable' && result.code === 'aborted')) return;
    const { origin, step, keys } = call;
    const { requestId } = result.meta;
    const noted = {
      file: origin.file,
      line: origin.line,
      step,
      keys,
      latencyMs: rounded(slowestMs),
      sent,
      code: codeOf(result),
      requestId,
    };
    if (slowestMs >= this.#slowMs) this.#slowest = withCall(this.#slowest, noted, slower);
    if (sent > this.#timesSent) this.#mostRetried = withCall(this.#mostRetried, noted, retriedMore);
    this.#raise();
  }

  toJSON(): NotableCalls {
    return { slowest: this.#slowest, mostRetried: this.#mostRetried };
  }

  #raise(): void {
    this.#slowMs = this.#slowest[MOST_NOTED - 1]?.latencyMs ?? 0;
    this.#timesSent = this.#mostRetried[MOST_NOTED - 1]?.sent ?? 1;
  }
}

/** Adds the lists of shards or runs. */
export function addNotableCalls(all: readonly NotableCalls[]): NotableCalls {
  const first = (calls: readonly NotableCall[], order: typeof slower): readonly NotableCall[] => calls.toSorted(order).slice(0, MOST_NOTED);
  return {
    slowest: first(
      all.flatMap(({ slowest }) => slowest),
      slower,
    ),
    mostRetried: first(
      all.flatMap(({ mostRetried }) => mostRetried),
      retriedMore,
    ),
  };
}

/** A list has each request once. An earlier run may have noted it too. */
function withCall(list: readonly NotableCall[], call: NotableCall, order: typeof slower): readonly NotableCall[] {
  const isSame = ({ file, line, step, keys }: NotableCall): boolean =>
    file === call.file && line === call.line && step === call.step && keys === call.keys;
  const known = list.find(isSame);
  if (known === undefined) return [...list, call].sort(order).slice(0, MOST_NOTED);
  const merged = { ...call, latencyMs: Math.max(known.latencyMs, call.latencyMs), sent: Math.max(known.sent, call.sent) };
  return [...list.filter((one) => one !== known), merged].sort(order);
}

function codeOf(result: CallAnswer<unknown>): string | null {
  if (result.kind === 'throttled') return `http_${result.meta.status}`;
  return 'code' in result ? result.code : null;
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
