/**
 * One moment of the store for all searches that run at the same time. A search is cut into steps, and between them an import may write. So
 * searches read in a transaction of a connection of their own, which stays open while any of them runs.
 *
 * A search joins those that run, unless the index was written meanwhile, or they have held the moment for long: then it waits for their
 * end. So each search sees all that was written before it began, and an import is held back by no more than the searches that run.
 */
import type { Steps } from '../../util/steps.ts';
import { ChangeDetector } from '../store/index/change-detector.ts';
import type { Store } from '../store/store.ts';

/** How long searches join a moment, milliseconds. The write-ahead log keeps what was written since. */
const LONGEST_MS = 5_000;

export class SearchSnapshot {
  readonly #reader: Store;
  readonly #changes: ChangeDetector;
  readonly #now: () => number;
  readonly #invalidate: () => void;
  readonly #look;
  #running = 0;
  #sinceMs = 0;
  #ended: Promise<void> = Promise.resolve();
  #end: () => void = () => undefined;

  /**
   * @param writer the connection that writes the index in this process @param reader another one, for searches alone
   * @param now milliseconds @param invalidate drops what is cached of the index
   */
  constructor(writer: Store, reader: Store, now: () => number, invalidate: () => void) {
    this.#reader = reader;
    this.#changes = new ChangeDetector(writer);
    this.#now = now;
    this.#invalidate = invalidate;
    this.#look = reader.prepare('SELECT 1 FROM people LIMIT 1');
  }

  /** Whether the index was written since the searches that run began. */
  get isOutdated(): boolean {
    return this.#changes.hasChanged();
  }

  /** `leave` must follow. */
  *enter(): Steps<void> {
    while (this.#running > 0 && (this.isOutdated || this.#now() - this.#sinceMs > LONGEST_MS)) {
      const ended = this.#ended;
      yield ended;
    }
    if (this.#running === 0) this.#begin();
    this.#running++;
  }

  leave(): void {
    if (--this.#running > 0) return;
    this.#rollBack();
    this.#end();
  }

  #begin(): void {
    const begin = (): void => {
      this.#reader.exec('BEGIN');
      // A transaction begins with its first read.
      this.#look.get();
    };
    try {
      if (this.#changes.mark(begin, () => this.#rollBack())) this.#invalidate();
    } catch (error) {
      this.#rollBack();
      throw error;
    }
    this.#sinceMs = this.#now();
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  #rollBack(): void {
    // After damage SQLite may have done so by itself.
    if (this.#reader.isTransaction) this.#reader.exec('ROLLBACK');
  }
}
