/** Health of the store, for the operator: damage that was found, and whether the service is ready for requests. */
import { isUnreadable } from '../../sqlite/system-code.ts';
import type { WriteFailure } from '../store/store-disk.ts';
import type { ServiceLog } from './log.ts';

export const REASONS = [
  'stopping',
  'store_unreadable',
  'store_failed',
  'disk_full',
  'disk_read_only',
  'disk_failed',
  'store_damaged',
] as const;
type UnreadyReason = (typeof REASONS)[number];

export interface Readiness {
  /** Whether the service takes requests. */
  readonly ready: boolean;
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly reason: UnreadyReason | null;
  readonly detail: string | null;
}

/** Tables without which a request cannot be charged exactly once. */
type Accounts = 'keys' | 'idempotency';
const ACCOUNTS: ReadonlySet<string> = new Set<Accounts>(['keys', 'idempotency']);
/** Books that refuse writes for longer than another command's transaction takes count as unwritable, milliseconds. */
const STUCK_MS = 10_000;
/** Places beyond this number are counted and not logged. */
const MOST_LOGGED = 1_000;

const CHECK = 'run millrace check --store FILE to find what is damaged, and restore it from a backup';
const DETAILS: Readonly<Record<UnreadyReason, string>> = {
  stopping: 'the service is about to stop',
  store_unreadable: `the store cannot be read: ${CHECK}`,
  store_failed: 'what is to be written to the store is refused by it: the log says why',
  disk_full: 'the disk of the store is full: free some space, and the service goes on by itself',
  disk_read_only: 'the disk of the store is read-only: once it can be written the service goes on by itself',
  disk_failed: 'the disk of the store cannot be written: once it can be the service goes on by itself',
  store_damaged: `a part of the store is damaged: ${CHECK}`,
};

const WELL: Readiness = { ready: true, status: 'ok', reason: null, detail: null };

export class StoreHealth {
  readonly #store: string;
  readonly #log: ServiceLog | null;
  readonly #logged = new Set<string>();
  readonly #seen = new WeakSet<Error>();
  #areAccountsDamaged = false;
  /** Findings of damage, by route or part of the service. */
  readonly damage = new Map<string, number>();

  /** @param store its file */
  constructor(store: string, log: ServiceLog | null) {
    this.#store = store;
    this.#log = log;
  }

  /**
   * Reports damage in the store. It is logged once for each place in the code that finds it.
   * @param where the route or part of the service
   */
  damaged(where: string, error: unknown): void {
    if (!(error instanceof Error) || this.#seen.has(error)) return;
    this.#seen.add(error);
    this.damage.set(where, (this.damage.get(where) ?? 0) + 1);
    if (ACCOUNTS.has(where)) this.#areAccountsDamaged = true;
    const place = `${where} ${reader(error)}`;
    if (this.#logged.has(place) || this.#logged.size >= MOST_LOGGED) return;
    this.#logged.add(place);
    this.#log?.write('error', {
      event: 'store_damaged',
      where,
      error: error.message,
      hint: `millrace check --store ${this.#store}`,
      stack: error.stack,
    });
  }

  /** Returns what `read` returns, or `instead` when it finds damage. */
  reading<T>(where: string, read: () => T, instead: T): T {
    try {
      return read();
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      this.damaged(where, error);
      return instead;
    }
  }

  /** @param stuckMs how long the store has not been written @param failure why not */
  readiness({
    closing,
    readable,
    failure,
    stuckMs,
  }: {
    readonly closing: boolean;
    readonly readable: boolean;
    readonly failure: WriteFailure | null;
    readonly stuckMs: number;
  }): Readiness {
    if (closing) return unavailable('stopping');
    if (!readable) return unavailable('store_unreadable');
    if (failure !== null && (failure.startsWith('disk_') || stuckMs >= STUCK_MS)) return unavailable(failure);
    if (this.#areAccountsDamaged) return unavailable('store_damaged');
    // One damaged record must not make the whole service unready.
    return this.damage.size > 0 ? { ready: true, status: 'degraded', reason: 'store_damaged', detail: DETAILS.store_damaged } : WELL;
  }
}

function unavailable(reason: UnreadyReason): Readiness {
  return { ready: false, status: 'unavailable', reason, detail: DETAILS[reason] };
}

/** The function that found it. */
function reader({ stack = '' }: Error): string {
  return (
    stack
      .split('\n')
      .find((line) => /service\/\w/.test(line))
      ?.trim() ?? ''
  );
}
