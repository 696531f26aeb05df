import { BusyClock } from './busy-clock.ts';

/** An answer is published after this time, or together with this many others. */
const PUBLISH_EVERY_MS = 10;
const PUBLISHED_AT_ONCE = 128;
/** Publishing takes at most one part in this many of the time. On a slow disk answers are published later. */
const PUBLISHING_SHARE = 20;

interface PublisherOptions {
  /** The ledger's. */
  readonly path: string;
  /** Makes all answers visible to the other runs. Returns false while another process is writing. */
  readonly publish: () => boolean;
  /** Answers with these hashes are visible now. */
  readonly published: (hashes: readonly number[]) => void;
  /** Called with MillraceError 75 when another process writes for longer than a write to the ledger waits. */
  readonly failed: (error: unknown) => void;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
}

/** Publishes answers to the other runs soon after they come, several together. */
export class Publisher {
  readonly #options: PublisherOptions;
  #answered: number[] = [];
  #timer: NodeJS.Timeout | null = null;
  #everyMs = PUBLISH_EVERY_MS;
  readonly #busy: BusyClock;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#busy = new BusyClock(options.path, options.monotonicNow);
  }

  /** Answers with these hashes are in the ledger, and not published yet. */
  answered(hashes: readonly number[]): void {
    this.#answered.push(...hashes);
    if (this.#answered.length === 0) return;
    if (this.#answered.length >= PUBLISHED_AT_ONCE) this.#after(0);
    else if (this.#timer === null) this.#after(this.#everyMs);
  }

  /** No other run is there. Returns the hashes that were not published. */
  stop(): readonly number[] {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const answered = this.#answered;
    this.#answered = [];
    return answered;
  }

  #after(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      try {
        this.#publish();
      } catch (error) {
        this.#options.failed(error);
      }
    }, ms);
  }

  #publish(): void {
    this.#timer = null;
    const { publish, published, monotonicNow } = this.#options;
    const beganMs = monotonicNow();
    if (this.#busy.unlessBusy(publish() || null) === null) {
      this.#after(this.#busy.pauseMs);
      return;
    }
    this.#everyMs = Math.max(PUBLISH_EVERY_MS, (monotonicNow() - beganMs) * PUBLISHING_SHARE);
    const hashes = this.#answered;
    this.#answered = [];
    published(hashes);
  }
}
