/** What is wrong with the store, for whoever operates the service: damage that was met, and whether requests are welcome. */
import { isDamage } from '../../sqlite/system-code.ts';
import type { WriteFailure } from '../store/store-disk.ts';
import type { ServiceLog } from './log.ts';

export const REASONS = ['stopping', 'store_unreadable', 'store_busy', 'store_failed', 'disk_full', 'disk_read_only', 'disk_failed', 'store_damaged'] as const;
export type Reason = (typeof REASONS)[number];

export interface Readiness {
  /** Whether requests are welcome. */
  readonly ready: boolean;
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly reason: Reason | null;
  readonly detail: string | null;
}

/** Without them nobody can be charged once and only once. */
export type Accounts = 'keys' | 'quotas' | 'idempotency';
const ACCOUNTS: ReadonlySet<string> = new Set<Accounts>(['keys', 'quotas', 'idempotency']);
/** A store that another process writes to for longer than an import takes for a transaction cannot be written. */
const STUCK_MS = 10_000;
/** More places than this are counted, and not logged. */
const MOST_LOGGED = 1_000;

const CHECK = 'run millrace check --store FILE to find what is damaged, and restore it from a backup';
const DETAILS: Readonly<Record<Reason, string>> = {
  stopping: 'the service is about to stop',
  store_unreadable: `the store cannot be read: ${CHECK}`,
  store_busy: 'another process has been writing to the store for too long',
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
  /** How often damage was met, by where: a route, or a part of the service. */
  readonly damage = new Map<string, number>();

  /** @param store its file */
  constructor(store: string, log: ServiceLog | null) {
    this.#store = store;
    this.#log = log;
  }

  /** Notes that something in the store is damaged. It is logged once for each place in the code that meets it. @param where the route or part of the service */
  damaged(where: string, error: unknown): void {
    if (!(error instanceof Error) || this.#seen.has(error)) return;
    this.#seen.add(error);
    this.damage.set(where, (this.damage.get(where) ?? 0) + 1);
    if (ACCOUNTS.has(where)) this.#areAccountsDamaged = true;
    const place = `${where} ${reader(error)}`;
    if (this.#logged.has(place) || this.#logged.size >= MOST_LOGGED) return;
    this.#logged.add(place);
    this.#log?.write('error', { event: 'store_damaged', where, error: error.message, hint: `millrace check --store ${this.#store}`, stack: error.stack });
  }

  /** What `read` returns, or `instead` where what it reads is damaged. */
  reading<T>(where: string, read: () => T, instead: T): T {
    try {
      return read();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.damaged(where, error);
      return instead;
    }
  }

  /** @param stuckMs how long the store has not been written @param failure why not */
  readiness({ closing, readable, failure, stuckMs }: { readonly closing: boolean; readonly readable: boolean; readonly failure: WriteFailure | null; readonly stuckMs: number }): Readiness {
    if (closing) return unavailable('stopping');
    if (!readable) return unavailable('store_unreadable');
    if (failure !== null && (failure.startsWith('disk_') || stuckMs >= STUCK_MS)) return unavailable(failure);
    if (this.#areAccountsDamaged) return unavailable('store_damaged');
    // Who takes a service away because of one record takes away all of them.
    return this.damage.size > 0 ? { ready: true, status: 'degraded', reason: 'store_damaged', detail: DETAILS.store_damaged } : WELL;
  }
}

function unavailable(reason: Reason): Readiness {
  return { ready: false, status: 'unavailable', reason, detail: DETAILS[reason] };
}

/** The function that met it. */
function reader({ stack = '' }: Error): string {
  return stack.split('\n').find((line) => /service\/\w/.test(line))?.trim() ?? '';
}
