import { randomInt } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { isDead, isStale, LEASE_MS, ourselves, parseHolder, type Holder } from '../../lock/holder.ts';
import { isBusy } from '../../sqlite/busy.ts';
import { transaction } from '../../sqlite/transaction.ts';
import type { LedgerOptions } from '../options.ts';
import { BUSY_MS } from '../schema.ts';

const RENEW_EVERY_MS = 10_000;
/** No call is sent this shortly before the lease ends, milliseconds. */
const MARGIN_MS = 5_000;
/** How long leaving may wait for another process that is writing, milliseconds. */
const LEAVE_MS = 2_000;
/** Numbers of holders: never used twice. */
const HOLDERS = 2 ** 47;

export interface PresenceOptions extends Pick<LedgerOptions, 'path' | 'job' | 'maxAgeDays' | 'now' | 'mayWrite'> {
  /** This execution's name. Only one execution with a name runs at a time: a new one takes the place of a killed one. */
  readonly name: string;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
}

/** Another run that uses the ledger. */
interface Other {
  readonly process: Holder;
  readonly job: string;
  /** Milliseconds since 1970, by the other's clock. */
  readonly renewedAt: number;
  /** When that renewal was first seen here, monotonic milliseconds. */
  readonly seenAtMs: number;
}

/**
 * The runs that use a ledger file now, as rows in it. A row counts while its process lives, where that can be known: on the same machine
 * and in the same container. It never counts longer than a lease after its last renewal, so that a paused run does not block others for
 * good.
 */
export class Presence {
  readonly #db: DatabaseSync;
  readonly #options: PresenceOptions;
  readonly #rows: StatementSync;
  readonly #version: StatementSync;
  #versionSeen = -1;
  #others: ReadonlyMap<number, Other> = new Map();
  #id = 0;
  /** Monotonic milliseconds. */
  #validUntilMs = -Infinity;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#db = new DatabaseSync(options.path);
    // These rows need not survive a crash of the machine, and waiting must not block the event loop.
    this.#db.exec('PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL');
    this.#rows = this.#db.prepare('SELECT id, name, job, process, renewed_at AS renewedAt FROM holders');
    this.#version = this.#db.prepare('PRAGMA data_version');
  }

  /** The id of this run's claims. */
  get id(): number {
    return this.#id;
  }

  /** The other runs, by their number. */
  get others(): ReadonlyMap<number, Other> {
    return this.#others;
  }

  /** false when other runs may have taken over this run's claims. */
  get holds(): boolean {
    return this.#options.monotonicNow() < this.#validUntilMs - MARGIN_MS;
  }

  /**
   * Writes this run's row, again if it was lost, and removes the rows of dead runs.
   * @param whenAlone called when there is no other run, before one can come
   */
  register(whenAlone: () => void): void {
    const { name, job, now, monotonicNow, mayWrite } = this.#options;
    const sentAtMs = monotonicNow();
    const id = randomInt(1, HOLDERS);
    this.#db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    transaction(this.#db, () => {
      mayWrite?.();
      const rows = this.#rows.all();
      const gone = rows.filter((row) => row['name'] === name || isStale(processOf(row), now()));
      for (const row of gone) this.#db.prepare('DELETE FROM holders WHERE id = ?').run(Number(row['id']));
      if (gone.length === rows.length) whenAlone();
      const process = JSON.stringify(ourselves(now()));
      this.#db
        .prepare('INSERT INTO holders (id, name, job, process, renewed_at) VALUES (?, ?, ?, ?, ?)')
        .run(id, name, job, process, now());
    });
    this.#db.exec('PRAGMA busy_timeout = 0');
    this.#id = id;
    this.#validUntilMs = sentAtMs + LEASE_MS;
    this.#read();
  }

  /** Looks for others. Returns whether one has come or gone. */
  look(): boolean {
    const version = Number(this.#version.get()?.['data_version']);
    if (version === this.#versionSeen) return false;
    this.#versionSeen = version;
    const before = this.#others;
    this.#read();
    return before.size !== this.#others.size || [...this.#others.keys()].some((id) => !before.has(id));
  }

  /** Whether this run may use the answers of another run, and so waits for them. false for an ended run. */
  isWaitedFor(id: number): boolean {
    if (!this.#others.has(id)) this.look();
    const other = this.#others.get(id);
    return other !== undefined && (this.#options.maxAgeDays > 0 || other.job === this.#options.job);
  }

  /** When the leases of these runs end unless they renew them, monotonic milliseconds; null without any. */
  endOf(ids: readonly number[]): number | null {
    const ends = ids.flatMap((id) => {
      const other = this.#others.get(id);
      return other === undefined ? [] : [other.seenAtMs + LEASE_MS];
    });
    return ends.length === 0 ? null : Math.max(...ends);
  }

  /** Renews the row when due, or at once. Returns false when the row is lost, null while another process is writing. */
  renew(now: 'when due' | 'at once'): boolean | null {
    const sentAtMs = this.#options.monotonicNow();
    if (now === 'when due' && sentAtMs < this.#validUntilMs - LEASE_MS + RENEW_EVERY_MS) return true;
    const changes = this.#tryWrite(
      () => this.#db.prepare('UPDATE holders SET renewed_at = ? WHERE id = ?').run(this.#options.now(), this.#id).changes,
    );
    if (changes === null) return null;
    if (Number(changes) === 0) return false;
    this.#validUntilMs = sentAtMs + LEASE_MS;
    return true;
  }

  /** Removes the rows of dead runs and of runs that have not renewed theirs for a lease. Returns their numbers. */
  removeGone(): number[] {
    const gone = [...this.#others].filter(([, other]) => this.#isGone(other));
    if (gone.length === 0) return [];
    const removed = this.#tryWrite(() => {
      // A run that has renewed its row meanwhile is still there.
      const remove = this.#db.prepare('DELETE FROM holders WHERE id = ? AND renewed_at = ?');
      return gone.filter(([id, { renewedAt }]) => Number(remove.run(id, renewedAt).changes) > 0).map(([id]) => id);
    });
    this.#read();
    return removed ?? [];
  }

  /** Runs the work while no run can come, if there is no other. Returns null otherwise, and while another process is writing. */
  whenAlone<T>(work: () => T): T | null {
    return this.#tryWrite(() => {
      this.#read();
      return this.#others.size === 0 ? work() : null;
    });
  }

  /** Removes this run's row. @param whenLast called when there is no other run, before one can come */
  leave(whenLast: () => void): void {
    try {
      this.#db.exec(`PRAGMA busy_timeout = ${LEAVE_MS}`);
      transaction(this.#db, () => {
        this.#options.mayWrite?.();
        this.#db.prepare('DELETE FROM holders WHERE id = ?').run(this.#id);
        this.#read();
        if (this.#others.size === 0) whenLast();
      });
    } finally {
      this.#db.close();
    }
  }

  #isGone({ process, renewedAt, seenAtMs }: Other): boolean {
    const { now, monotonicNow } = this.#options;
    return isDead(process) || monotonicNow() - seenAtMs > LEASE_MS || isStale({ ...process, renewedAt }, now());
  }

  #read(): void {
    const seenAtMs = this.#options.monotonicNow();
    const others = new Map<number, Other>();
    for (const row of this.#rows.all()) {
      const id = Number(row['id']);
      if (id === this.#id) continue;
      const renewedAt = Number(row['renewedAt']);
      const before = this.#others.get(id);
      others.set(id, before?.renewedAt === renewedAt ? before : { process: processOf(row), job: String(row['job']), renewedAt, seenAtMs });
    }
    this.#others = others;
  }

  #tryWrite<T>(work: () => T): T | null {
    try {
      return transaction(this.#db, () => {
        this.#options.mayWrite?.();
        return work();
      });
    } catch (error) {
      if (isBusy(error)) return null;
      throw error;
    }
  }
}

function processOf(row: Readonly<Record<string, unknown>>): Holder {
  const process = parseHolder(String(row['process']));
  if (process === null) throw new Error('it names a run that cannot be read');
  return { ...process, renewedAt: Number(row['renewedAt']) };
}
