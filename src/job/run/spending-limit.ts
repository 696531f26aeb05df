/** How much is claimed together: this share of the limit, and at most this many. */
const CLAIM_SHARE = 0.01;
const MAX_CLAIM = 1_000;

interface SpendingLimitOptions {
  /** Calls or credits; null when the job has no limit. */
  readonly most: number | null;
  /** The smallest window of a stated quota that must count what a killed run has spent; null when no such window is stated. */
  readonly window?: number | null;
  /** Spent by this job, or perhaps spent: what is in flight, and what killed runs may have spent and did not count. */
  readonly spent: () => number;
  /** Writes a checkpoint with a new claim. Null when the run keeps no checkpoint. */
  readonly record: (() => Promise<void>) | null;
}

/**
 * One limit of a job, in calls or in credits, that holds also when the process is killed. Amounts are claimed in the checkpoint before they
 * are spent, a hundredth of the limit at a time. A killed run leaves its claim behind, and the next run counts all of it as spent.
 */
export class SpendingLimit {
  readonly #options: SpendingLimitOptions;
  readonly #claims: boolean;
  #step: number;
  /** How much the job may have spent in all by now: the durable claim. */
  #claimed: number;
  /** The highest claim so far, durable or being written. */
  #highest = 0;

  constructor(options: SpendingLimitOptions) {
    this.#options = options;
    const { most, window = null, record } = options;
    this.#claims = most !== null || window !== null;
    this.#step = Math.min(MAX_CLAIM, Math.max(1, Math.ceil(Math.min(most ?? Infinity, window ?? Infinity) * CLAIM_SHARE)));
    this.#claimed = record === null ? Infinity : 0;
  }

  /** How much is left; Infinity without a limit. */
  get left(): number {
    return (this.#options.most ?? Infinity) - this.#options.spent();
  }

  /**
   * True when `amount` may be spent at once, false when it would exceed the limit. A promise means: ask again when it resolves.
   * @throws StorageError by the promise
   */
  ask(amount: number): boolean | Promise<void> {
    if (!this.#claims) return true;
    const { spent, record, most } = this.#options;
    const before = spent();
    if (before + amount > (most ?? Infinity)) return false;
    this.#step = Math.max(this.#step, amount);
    const left = this.#claimed - before;
    if (left < amount) return record?.() ?? true;
    // Early enough that no call waits for the disk. A call that has to wait after all gets the failure.
    if (left - amount < this.#step / 2 && this.#claimed < (most ?? Infinity)) record?.().catch(() => undefined);
    return true;
  }

  /**
   * The upper bound of what is spent before the next checkpoint, for a checkpoint that is written now. It never falls: calls that turn out
   * to be free lower what is spent, and others may already use the claim of before.
   */
  claim(): number {
    const spent = this.#options.spent();
    if (!this.#claims) return spent;
    this.#highest = Math.max(this.#highest, spent, Math.min(this.#options.most ?? Infinity, spent + this.#step));
    return this.#highest;
  }

  /** The checkpoint with this claim is durable. */
  claimedUpTo(claim: number): void {
    this.#claimed = Math.max(this.#claimed, claim);
  }
}
