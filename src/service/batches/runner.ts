/** Whose turn it is: jobs of all keys in turn, one of a key at a time, a few at once; in the one process that has the lease of the store. */
import type { Store } from '../store/store.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { isBusy } from '../../sqlite/busy.ts';
import type { BatchRows } from './batch-rows.ts';
import { MAX_ROUNDS } from './limits.ts';
import { ownerIsGone } from './owner.ts';
import { ACTIVE } from './states.ts';

/** How often it is looked for jobs that another process has begun, milliseconds. */
const LOOK_MS = 500;
/** How long the lease is for, and when it is taken anew. */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;

export interface RunnerOptions {
  readonly store: Store;
  readonly rows: BatchRows;
  readonly owner: string;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
  /** Does a step of a job, and returns after how many milliseconds it is worth looking at again. Never rejects. */
  readonly step: (id: string) => Promise<number>;
  /** Runs now and then while the lease is held. Never rejects. */
  readonly tidy: () => Promise<void>;
  readonly tidyMs: number;
  /** Hears of what keeps it from looking, once until it looks again. */
  readonly onError: (error: unknown) => void;
}

export class BatchRunner {
  readonly #options: RunnerOptions;
  /** By key. */
  readonly #flying = new Map<string, Promise<void>>();
  readonly #notBefore = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #soon: NodeJS.Immediate | null = null;
  #leasedMs = -Infinity;
  #tidiedMs = -Infinity;
  #tidying: Promise<void> | null = null;
  #lastKey = '';
  #stopped = false;
  #told = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
    this.wake();
  }

  /** Something may be to be done; of one job, whatever it waited for. */
  wake(id?: string): void {
    if (id !== undefined) this.#notBefore.delete(id);
    if (!this.#stopped) this.#soon ??= setImmediate(() => this.#look());
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Nothing more is begun, and what is under way notes nothing more. */
  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    if (this.#soon !== null) clearImmediate(this.#soon);
  }

  /** After `stop`: resolves when nothing is under way, and lets go of the lease. */
  async ended(): Promise<void> {
    await Promise.all([...this.#flying.values(), this.#tidying]);
    const { store, rows, owner } = this.#options;
    try {
      transaction(store, () => rows.giveUpLease(owner));
    } catch {
      // It ends by itself.
    }
  }

  /** A store that cannot be read or written is looked at again: it must end nobody. */
  #look(): void {
    this.#soon = null;
    if (this.#stopped) return;
    try {
      this.#lookOnce();
      this.#told = false;
    } catch (error) {
      if (!this.#told) this.#options.onError(error);
      this.#told = true;
    }
  }

  #lookOnce(): void {
    const { rows, clock, tidy, tidyMs } = this.#options;
    const active = rows.active();
    const isTidyDue = this.#tidying === null && clock() - this.#tidiedMs >= tidyMs;
    if ((active.length === 0 && !isTidyDue) || !this.#lease()) return;
    if (isTidyDue) {
      this.#tidiedMs = clock();
      this.#tidying = tidy().finally(() => {
        this.#tidying = null;
      });
    }
    while (this.#flying.size < MAX_ROUNDS) {
      const next = this.#choose(active);
      if (next === null) return;
      this.#fly(next);
    }
  }

  /** Of the key after the one that came last, its most urgent job. */
  #choose(active: ReturnType<BatchRows['active']>): { readonly id: string; readonly keyId: string } | null {
    const nowMs = this.#options.clock();
    const due = active.filter(({ id, keyId }) => !this.#flying.has(keyId) && (this.#notBefore.get(id) ?? 0) <= nowMs);
    const keys = [...new Set(due.map(({ keyId }) => keyId))].toSorted();
    const key = keys.find((one) => one > this.#lastKey) ?? keys[0];
    if (key === undefined) return null;
    this.#lastKey = key;
    const [next] = due.filter(({ keyId }) => keyId === key).toSorted((one, other) => ACTIVE.indexOf(one.state) - ACTIVE.indexOf(other.state));
    return next ?? null;
  }

  #fly({ id, keyId }: { readonly id: string; readonly keyId: string }): void {
    const { step, clock } = this.#options;
    const flight = step(id).then((waitMs) => {
      this.#flying.delete(keyId);
      if (waitMs > 0) this.#notBefore.set(id, clock() + waitMs);
      else this.#notBefore.delete(id);
      this.wake();
    });
    this.#flying.set(keyId, flight);
  }

  #lease(): boolean {
    const { store, rows, owner, clock } = this.#options;
    if (clock() - this.#leasedMs < RENEW_MS) return true;
    try {
      const held = transaction(store, () => rows.lease(owner, LEASE_MS, ownerIsGone));
      this.#leasedMs = held ? clock() : -Infinity;
      return held;
    } catch (error) {
      if (!isBusy(error)) throw error;
      return clock() - this.#leasedMs < LEASE_MS / 2;
    }
  }
}
