/**
 * Collects writes and commits them together at the end of the event-loop turn, because a transaction for each request would cost more than
 * most requests.
 * An answer with a charge waits for `written`, so that no crash can undo what the client was told.
 */
import { isBusy } from '../../sqlite/busy.ts';
import { isUnreadable } from '../../sqlite/system-code.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { hasRoomAgain, writeFailureOf, type WriteFailure } from './store-disk.ts';
import type { DatabaseSync } from 'node:sqlite';
import type { Store } from './store.ts';

/** The longest delay of a write that no answer waits for, milliseconds. */
const FLUSH_EVERY_MS = 100;
/** Retry interval while another process, such as `millrace keys`, writes to the books. */
const RETRY_MS = 5;
/** Retry interval on a full or failing disk, so that its repair is noticed within a second. */
const RETRY_DISK_MS = 500;
/** How long an answer waits for busy books. Books that are busy for longer are reported. */
const WAIT_MS = 2_000;
/** The last write waits this long for another process, milliseconds. */
const LAST_WAIT_MS = 5_000;

/** Collects writes. */
export interface JournalMember {
  /** Its label in reports of damage. */
  readonly where: string;
  readonly size: number;
  /** The writes as parts that do not depend on each other. */
  parts(): Iterable<JournalWrite>;
  /** Writes all at once, within a transaction. Default: part by part. */
  flush?(): void;
  /** After the commit. */
  flushed(): void;
}

/** A write that can be given up by itself if its pages are damaged. */
export interface JournalWrite {
  write(): void;
  /** Its pages are damaged: it is dropped and no longer a part. */
  giveUp(): void;
  /** The id of the key that this part charges. */
  readonly charges?: string;
  /** The id of the key that pays for this part: without the charge it is given up. */
  readonly chargedTo?: string;
}

/** Hears of damage and of recovery. */
interface JournalListener {
  /** Pages are damaged. @param where the member's label */
  readonly onDamage: (where: string, error: unknown) => void;
  /** A failure that `onError` heard of is over. */
  readonly onRecovered: () => void;
}

const NOBODY: JournalListener = { onDamage: () => undefined, onRecovered: () => undefined };

/** Answers that wait for the same transaction. */
interface Batch {
  readonly promise: Promise<boolean>;
  readonly resolve: (written: boolean) => void;
  readonly sinceMs: number;
}

export class Journal {
  readonly #books: DatabaseSync;
  readonly #members: JournalMember[] = [];
  readonly #clock: () => number;
  readonly #onError: (error: unknown, failure: WriteFailure) => void;
  readonly #listener: JournalListener;
  /** The file of the books. */
  readonly #path: string;
  #timer: NodeJS.Timeout | null = null;
  #soon: NodeJS.Immediate | null = null;
  #batch: Batch | null = null;
  #failing: { readonly sinceMs: number; readonly failure: WriteFailure } | null = null;
  #reported = false;
  #closed = false;

  /**
   * @param onError hears of each failure once; of a busy store, once it has been busy for long
   * @param clock monotonic, milliseconds
   */
  constructor(
    { books }: Store,
    onError: (error: unknown, failure: WriteFailure) => void,
    clock: () => number = () => performance.now(),
    listener: JournalListener = NOBODY,
  ) {
    this.#books = books;
    this.#onError = onError;
    this.#clock = clock;
    this.#listener = listener;
    this.#path = books.location() ?? '';
  }

  join(member: JournalMember): void {
    this.#members.push(member);
  }

  /** A member calls this when it has something to write. */
  wake(): void {
    if (!this.#closed) this.#timer ??= setTimeout(() => this.flush(), FLUSH_EVERY_MS);
  }

  /**
   * Resolves with true when everything collected so far is in the store, except for damaged parts.
   * Resolves with false when the store does not accept it within two seconds, and at once on an unusable disk or after `close`.
   */
  written(): Promise<boolean> {
    if (this.#closed || this.isDiskUnusable) return Promise.resolve(false);
    if (this.#batch !== null) return this.#batch.promise;
    this.#batch = { ...Promise.withResolvers<boolean>(), sinceMs: this.#clock() };
    if (this.#failing === null) this.#soon ??= setImmediate(() => this.flush());
    else this.#retry();
    return this.#batch.promise;
  }

  /** Commits now if an answer waits. */
  writeAwaited(): void {
    if (this.#batch !== null && this.#failing === null) this.flush();
  }

  /** For how long the store has refused writes, milliseconds; 0 when it accepts them. */
  get stuckMs(): number {
    return this.#failing === null ? 0 : this.#clock() - this.#failing.sinceMs;
  }

  /** Why the store refuses writes; null when it accepts them, as far as is known. */
  get failure(): WriteFailure | null {
    return this.#failing?.failure ?? null;
  }

  /** Whether the disk is full or fails, which lasts until an operator repairs it. */
  get isDiskUnusable(): boolean {
    return this.#failing?.failure.startsWith('disk_') === true;
  }

  /** Commits everything now. If the store is busy or full, the writes stay and are retried. */
  flush(): boolean {
    this.#unschedule();
    try {
      this.#write();
    } catch (error) {
      this.#failed(error);
      return false;
    }
    this.#failing = null;
    if (this.#reported) this.#listener.onRecovered();
    this.#reported = false;
    this.#settle(true);
    return true;
  }

  #write(): void {
    const full = this.#members.filter(({ size }) => size > 0);
    if (this.failure === 'disk_full' && !hasRoomAgain(this.#path)) throw new StillFull();
    if (full.length === 0) {
      if (this.isDiskUnusable) this.#writeNothing();
      return;
    }
    try {
      transaction(this.#books, () => {
        for (const member of full) {
          if (member.flush !== undefined) member.flush();
          else for (const part of member.parts()) part.write();
        }
      });
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      this.#writeByParts(full);
    }
    for (const member of full) member.flushed();
  }

  /**
   * Gives up parts that hit damage, and commits the others. SQLite rolls back a transaction that hits damage, so each attempt is a new one.
   * A charge and its answer are committed together or not at all.
   */
  #writeByParts(members: readonly JournalMember[]): void {
    for (;;) {
      let tried: { readonly part: JournalWrite; readonly where: string } | null = null;
      try {
        transaction(this.#books, () => {
          for (const member of members) {
            for (const part of member.parts()) {
              tried = { part, where: member.where };
              part.write();
            }
          }
          tried = null;
        });
        return;
      } catch (error) {
        const failed = tried as { readonly part: JournalWrite; readonly where: string } | null;
        if (failed === null || !isUnreadable(error)) throw error;
        giveUp(failed.part, members);
        this.#listener.onDamage(failed.where, error);
      }
    }
  }

  /** Tests a refused store while there is nothing to write. */
  #writeNothing(): void {
    transaction(this.#books, () => {
      const { user_version: version } = this.#books.prepare('PRAGMA user_version').get() as { user_version: number };
      this.#books.exec(`PRAGMA user_version = ${version}`);
    });
  }

  /**
   * Commits the rest and stops. Later members are not written: retries on a closed store would never end, and neither would the process.
   */
  close(): void {
    if (this.#closed) return;
    if (this.#members.some(({ size }) => size > 0)) this.#books.exec(`PRAGMA busy_timeout = ${LAST_WAIT_MS}`);
    // A full disk may still have room for this.
    this.#failing = null;
    this.flush();
    this.#closed = true;
    this.#unschedule();
    this.#settle(false);
  }

  #failed(error: unknown): void {
    const failure = error instanceof StillFull ? 'disk_full' : writeFailureOf(error, this.#path);
    this.#failing = { sinceMs: this.#failing?.sinceMs ?? this.#clock(), failure };
    if (!this.#reported && (!isBusy(error) || this.stuckMs >= WAIT_MS)) {
      this.#reported = true;
      this.#onError(error, failure);
    }
    if (this.#batch !== null && (this.isDiskUnusable || this.#clock() - this.#batch.sinceMs >= WAIT_MS)) this.#settle(false);
    this.#retry();
  }

  #settle(written: boolean): void {
    const batch = this.#batch;
    this.#batch = null;
    batch?.resolve(written);
  }

  #retry(): void {
    this.#unschedule();
    this.#timer = setTimeout(() => this.flush(), this.isDiskUnusable ? RETRY_DISK_MS : this.#batch === null ? FLUSH_EVERY_MS : RETRY_MS);
  }

  #unschedule(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#soon !== null) clearImmediate(this.#soon);
    this.#timer = null;
    this.#soon = null;
  }
}

/** Outside of the transaction: an answer whose charge is given up must not be written. */
function giveUp(part: JournalWrite, members: readonly JournalMember[]): void {
  part.giveUp();
  if (part.charges === undefined) return;
  for (const member of members) for (const other of member.parts()) if (other.chargedTo === part.charges) other.giveUp();
}

/** The disk was full, and still has too little room. */
class StillFull extends Error {}
