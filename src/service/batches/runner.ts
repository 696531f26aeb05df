/** Chooses the jobs that run in the process with the lease: round robin over keys, one job of a key at a time. */
import type { Store } from '../store/store.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { isBusy } from '../../sqlite/busy.ts';
import type { BatchRows } from './batch-rows.ts';
import { MAX_CHUNKS } from './batch-limits.ts';
import { ownerIsGone } from './owner.ts';
import { ACTIVE } from './states.ts';

/** How often it polls for jobs of other processes, milliseconds. */
const POLL_MS = 500;
/** The length of the lease, and the interval of its renewal, milliseconds. */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;

interface RunnerOptions {
  readonly store: Store;
  readonly rows: BatchRows;
  readonly owner: string;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
  /** Runs one step of a job. Returns the milliseconds to wait before the next one. Never rejects. */
  readonly step: (id: string) => Promise<number>;
  /** Runs every `janitorMs` while the lease is held. Never rejects. */
  readonly janitor: () => Promise<void>;
  readonly janitorMs: number;
  /** Called with the first error of a series of failed polls. */
  readonly onError: (error: unknown) => void;
}

export class BatchRunner {
  readonly #options: RunnerOptions;
  /** Running steps by key. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #notBefore = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #soon: NodeJS.Immediate | null = null;
  #leasedMs = -Infinity;
  #janitorRanMs = -Infinity;
  #janitorRun: Promise<void> | null = null;
  #lastKey = '';
  #stopped = false;
  #isReported = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#poll(), POLL_MS);
    this.#timer.unref();
    this.wake();
  }

  /** Polls soon. @param id a job whose wait ends */
  wake(id?: string): void {
    if (id !== undefined) this.#notBefore.delete(id);
    if (!this.#stopped) this.#soon ??= setImmediate(() => this.#poll());
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Starts no more steps. Running steps commit nothing more. */
  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    if (this.#soon !== null) clearImmediate(this.#soon);
  }

  /** Resolves after `stop`, when no step runs. Releases the lease. */
  async ended(): Promise<void> {
    await Promise.all([...this.#running.values(), this.#janitorRun]);
    const { store, rows, owner } = this.#options;
    try {
      transaction(store.books, () => rows.giveUpLease(owner));
    } catch {
      // The lease expires by itself.
    }
  }

  /** Polls, and reports an error instead of throwing: a store that fails for a moment must not crash the process. */
  #poll(): void {
    this.#soon = null;
    if (this.#stopped) return;
    try {
      this.#pollOnce();
      this.#isReported = false;
    } catch (error) {
      if (!this.#isReported) this.#options.onError(error);
      this.#isReported = true;
    }
  }

  #pollOnce(): void {
    const { rows, clock, janitor, janitorMs } = this.#options;
    const active = rows.active();
    const isJanitorDue = this.#janitorRun === null && clock() - this.#janitorRanMs >= janitorMs;
    if ((active.length === 0 && !isJanitorDue) || !this.#lease()) return;
    if (isJanitorDue) {
      this.#janitorRanMs = clock();
      this.#janitorRun = janitor().finally(() => {
        this.#janitorRun = null;
      });
    }
    while (this.#running.size < MAX_CHUNKS) {
      const next = this.#choose(active);
      if (next === null) return;
      this.#begin(next);
    }
  }

  /** The most urgent due job of the next key, in round-robin order. */
  #choose(active: ReturnType<BatchRows['active']>): { readonly id: string; readonly keyId: string } | null {
    const nowMs = this.#options.clock();
    const due = active.filter(({ id, keyId }) => !this.#running.has(keyId) && (this.#notBefore.get(id) ?? 0) <= nowMs);
    const keys = [...new Set(due.map(({ keyId }) => keyId))].toSorted();
    const key = keys.find((one) => one > this.#lastKey) ?? keys[0];
    if (key === undefined) return null;
    this.#lastKey = key;
    const [next] = due
      .filter(({ keyId }) => keyId === key)
      .toSorted((one, other) => ACTIVE.indexOf(one.state) - ACTIVE.indexOf(other.state));
    return next ?? null;
  }

  #begin({ id, keyId }: { readonly id: string; readonly keyId: string }): void {
    const { step, clock } = this.#options;
    const running = step(id).then((waitMs) => {
      this.#running.delete(keyId);
      if (waitMs > 0) this.#notBefore.set(id, clock() + waitMs);
      else this.#notBefore.delete(id);
      this.wake();
    });
    this.#running.set(keyId, running);
  }

  /** Renews the lease when it is due. Returns whether this process holds it. */
  #lease(): boolean {
    const { store, rows, owner, clock } = this.#options;
    if (clock() - this.#leasedMs < RENEW_MS) return true;
    try {
      const held = transaction(store.books, () => rows.lease(owner, LEASE_MS, ownerIsGone));
      this.#leasedMs = held ? clock() : -Infinity;
      return held;
    } catch (error) {
      if (!isBusy(error)) throw error;
      return clock() - this.#leasedMs < LEASE_MS / 2;
    }
  }
}
