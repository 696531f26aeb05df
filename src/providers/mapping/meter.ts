/**
 * Bounds the work of one evaluation. Evaluations run one at a time (`mapping.ts`), so one meter serves all mappings.
 * The bounds of steps and bytes are the same on every machine: an answer that was mapped once can be mapped again.
 */
import type { MappingFailure } from './mapping-error.ts';

export const LIMITS = {
  /** Evaluated nodes of the expression; a plain record takes about 100. They take about a fifth of a second. */
  steps: 200_000,
  /** Processor time, for single steps that are slow: a busy or paused machine fails no answer. */
  timeMs: 1_000,
  /** Calls within calls. Entries of one object count too, because they are evaluated side by side. */
  depth: 10_000,
  /** Entries of a list. */
  list: 10_000,
  /** Characters of a text that the expression makes. */
  text: 1_000_000,
  /** Bytes of lists and texts that the expression makes, a rough count. */
  bytes: 32 * 1024 * 1024,
} as const;

/** The rough memory of a list that JSONata makes, and of one more entry. */
const BYTES_PER_ENTRY = 64;

/** Thrown inside JSONata, and caught by the mapping. */
export class LimitReached extends Error {
  readonly failure: MappingFailure;
  constructor(failure: MappingFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

/** Readings between two looks at the clock; a plain mapping ends before the first. */
const READS_PER_LOOK = 512;

/** Milliseconds of this thread. */
function processorTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

class Meter {
  #reads = 0;
  #bytes = 0;
  #startMs = 0;

  reset(): void {
    this.#reads = 0;
    this.#bytes = 0;
  }

  /** JSONata reads its bounds twice for each step. */
  readBound(): void {
    this.#reads += 1;
    if (this.#reads % READS_PER_LOOK === 0) this.#look();
    if (this.#reads > 2 * LIMITS.steps) throw new LimitReached('too_long', `it takes more than ${LIMITS.steps} steps`);
  }

  #look(): void {
    const now = processorTime();
    if (this.#reads === READS_PER_LOOK) this.#startMs = now;
    else if (now - this.#startMs > LIMITS.timeMs) throw new LimitReached('too_long', `it takes more than ${LIMITS.timeMs / 1_000} s`);
  }

  /** Takes bytes of the budget before they are allocated. */
  charge(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > LIMITS.bytes) throw new LimitReached('too_large', `its lists and texts take more than ${LIMITS.bytes >> 20} MiB`);
  }
}

export const meter = new Meter();

/** Options of `jsonata()`. It reads `stack` at each step and `sequence` at each entry of a list, so both readings count. */
export const BOUNDED_OPTIONS = {
  get stack(): number {
    meter.readBound();
    return LIMITS.depth;
  },
  get sequence(): number {
    meter.charge(BYTES_PER_ENTRY);
    return LIMITS.list;
  },
};
