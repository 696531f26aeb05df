/** The table of deliveries. Writes run within the caller's transaction. */
import { randomBytes } from 'node:crypto';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Store } from '../store/store.ts';
import type { EventType } from './announcement.ts';
import type { Claimed, Delivery, DeliveryState, Dropped, GivenUp, NewDelivery, Outcome } from './delivery.ts';
import type { Destination } from './concurrency.ts';

const ANSWER_COLUMNS = 'seq, id, type, state, created_at, attempts, next_at, last_at, last_status, last_error';
/** A claimed delivery, with the current URL of its webhook. */
const CLAIMED = `SELECT d.id, d.key_id, iif(d.url IS NULL, d.channel, NULL) AS webhook_id, coalesce(d.url, w.url) AS url, d.host, d.body,
  d.signal, d.person, d.created_at, d.attempts, d.round, d.url IS NULL AND w.enabled IS NOT 1 AS disabled
  FROM webhook_deliveries AS d LEFT JOIN webhooks AS w ON w.id = d.channel`;

export class DeliveryRows {
  readonly #statements;
  /** Deliveries that this process added since the caller last set this to 0. */
  added = 0;
  #grown: Set<string> | null = null;

  constructor(store: Store) {
    this.#statements = {
      insert: store.books.prepare(
        'INSERT INTO webhook_deliveries (id, key_id, channel, url, host, type, body, signal, person, created_at, state, next_at) ' +
          'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      ),
      isDue: store.books.prepare('SELECT 1 FROM webhook_deliveries WHERE next_at <= ? LIMIT 1'),
      keyAfter: store.books.prepare(
        'SELECT key_id AS position FROM webhook_deliveries WHERE next_at IS NOT NULL AND key_id > ? ORDER BY key_id LIMIT 1',
      ),
      hostAfter: store.books.prepare(
        'SELECT host AS position, next_at AS nextMs FROM webhook_deliveries WHERE next_at ' +
          'IS NOT NULL AND key_id = ? AND host > ? ORDER BY host, next_at LIMIT 1',
      ),
      due: store.books.prepare(`${CLAIMED} WHERE d.key_id = ? AND d.host = ? AND d.next_at <= ? ORDER BY d.next_at LIMIT ?`),
      dueOne: store.books.prepare(`${CLAIMED} WHERE d.id = ? AND d.key_id = ? AND d.host = ? AND d.next_at <= ?`),
      isWaiting: store.books.prepare('SELECT 1 FROM webhook_deliveries WHERE id = ? AND next_at IS NOT NULL'),
      postpone: store.books.prepare('UPDATE webhook_deliveries SET next_at = ? WHERE id = ? AND next_at IS NOT NULL'),
      settle: store.books.prepare(
        'UPDATE webhook_deliveries SET state = ?1, attempts = ?2, next_at = ?3, last_at = ?4, last_status = ?5, last_error = ?6 WHERE ' +
          'id = ?7 AND round = ?8 AND attempts = ?2 - 1 AND (next_at IS NOT NULL OR ?3 IS NULL)',
      ),
      giveUp: store.books.prepare(
        "UPDATE webhook_deliveries SET state = 'failed', next_at = NULL, last_error = ? WHERE channel = ? AND next_at IS NOT NULL",
      ),
      giveUpOne: store.books.prepare(
        "UPDATE webhook_deliveries SET state = 'failed', next_at = NULL, last_error = ? WHERE id = ? AND round = ?",
      ),
      erase: store.books.prepare('DELETE FROM webhook_deliveries WHERE id = ?'),
      removeAll: store.books.prepare('DELETE FROM webhook_deliveries WHERE channel = ?'),
      find: store.books.prepare(`SELECT ${ANSWER_COLUMNS} FROM webhook_deliveries WHERE id = ? AND channel = ?`),
      page: store.books.prepare(`SELECT ${ANSWER_COLUMNS} FROM webhook_deliveries WHERE channel = ? AND seq < ? ORDER BY seq DESC LIMIT ?`),
      again: store.books.prepare(
        "UPDATE webhook_deliveries SET state = 'pending', attempts = 0, round = round + 1, next_at = ? WHERE id = ?",
      ),
      move: store.books.prepare('UPDATE webhook_deliveries SET host = ? WHERE channel = ?'),
      isAnyDueAfter: store.books.prepare('SELECT 1 FROM webhook_deliveries WHERE next_at > ? LIMIT 1'),
      pullTo: store.books.prepare('UPDATE webhook_deliveries SET next_at = ? WHERE next_at > ?'),
      pending: store.books.prepare('SELECT count(*) AS n FROM webhook_deliveries WHERE next_at IS NOT NULL'),
      anyOld: store.books.prepare('SELECT 1 FROM webhook_deliveries WHERE next_at IS NULL AND created_at < ? LIMIT 1'),
      dropOld: store.books.prepare(
        'DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries WHERE next_at IS NULL AND created_at < ? ' +
          'ORDER BY created_at LIMIT ?) RETURNING channel, next_at',
      ),
      // A skip scan: jumps from one channel to the next by the index, because reading the complete index takes too long.
      channels: store.books.prepare(`
        WITH RECURSIVE known (channel) AS (
          SELECT min(channel) FROM webhook_deliveries UNION ALL
          SELECT (SELECT min(channel) FROM webhook_deliveries WHERE channel > known.channel) FROM known WHERE known.channel IS NOT NULL)
        SELECT channel FROM known WHERE channel IS NOT NULL`),
      isCrowded: store.books.prepare('SELECT 1 FROM webhook_deliveries WHERE channel = ? LIMIT 1 OFFSET ?'),
      dropSettled: store.books.prepare(`
        DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries WHERE channel = ?1 AND next_at IS NULL ORDER BY seq
        LIMIT max(0, min(?3, (SELECT count(*) FROM webhook_deliveries WHERE channel = ?1) - ?2))) RETURNING channel, next_at`),
      dropBeyond: store.books.prepare(`
        DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries WHERE channel = ?1
        AND seq <= (SELECT seq FROM webhook_deliveries WHERE channel = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)
        ORDER BY seq LIMIT ?3) RETURNING channel, next_at`),
    };
  }

  add({ keyId, to, host, type, body, about, createdMs }: NewDelivery): void {
    const id = `msg_${randomBytes(16).toString('base64url')}`;
    const [channel, url] = 'url' in to ? [keyId, to.url] : [to.webhookId, null];
    this.added++;
    this.#grown?.add(channel);
    this.#statements.insert.run(id, keyId, channel, url, host, type, body, about.signal, about.person, createdMs, 'pending', createdMs);
  }

  isAnyDue(nowMs: number): boolean {
    return this.#statements.isDue.get(nowMs) !== undefined;
  }

  /** The next key after `keyId` with pending deliveries; null when `keyId` is the last. */
  keyAfter(keyId: string): { readonly position: string } | null {
    return (this.#statements.keyAfter.get(keyId) as { readonly position: string } | undefined) ?? null;
  }

  /** The next host after `host` with pending deliveries of a key, and the time when its first one is due. */
  hostAfter(keyId: string, host: string): { readonly position: string; readonly nextMs: number } | null {
    return (this.#statements.hostAfter.get(keyId, host) as { readonly position: string; readonly nextMs: number } | undefined) ?? null;
  }

  /**
   * Claims due deliveries of a destination. No other process can claim them before `untilMs`.
   * @param first the id of a delivery that is claimed before all others if it is due
   */
  claim({ keyId, host }: Destination, nowMs: number, untilMs: number, limit: number, first: string | null): Claimed[] {
    const one = first === null || limit === 0 ? [] : this.#claimed(this.#statements.dueOne.all(first, keyId, host, nowMs), untilMs);
    return [...one, ...this.#claimed(this.#statements.due.all(keyId, host, nowMs, limit - one.length), untilMs)];
  }

  #claimed(rows: readonly Readonly<Record<string, unknown>>[], untilMs: number): Claimed[] {
    return rows.map((row) => {
      const id = row['id'] as string;
      this.postpone(id, untilMs);
      return {
        id,
        keyId: row['key_id'] as string,
        webhookId: row['webhook_id'] as string | null,
        url: row['url'] as string,
        host: row['host'] as string,
        packed: row['body'] as Uint8Array,
        about: { signal: row['signal'] as string | null, person: row['person'] as string | null },
        createdMs: row['created_at'] as number,
        attempts: row['attempts'] as number,
        round: row['round'] as number,
        isDisabled: row['disabled'] === 1,
      };
    });
  }

  /** Whether a delivery is pending. */
  isWaiting(id: string): boolean {
    return this.#statements.isWaiting.get(id) !== undefined;
  }

  /** Sets the time from which any process may claim a pending delivery. */
  postpone(id: string, nextMs: number): void {
    this.#statements.postpone.run(nextMs, id);
  }

  /**
   * Records the outcome of an attempt, unless a redelivery was requested or another process recorded an attempt meanwhile. A delivery
   * that was given up meanwhile is not retried. Returns whether the outcome was recorded.
   */
  settle({ id, round }: Pick<Claimed, 'id' | 'round'>, { state, attempts, nextMs, lastMs, lastStatus, lastError }: Outcome): boolean {
    return Number(this.#statements.settle.run(state, attempts, nextMs, lastMs, lastStatus, lastError, id, round).changes) > 0;
  }

  /** Fails a delivery, unless a redelivery was requested meanwhile. */
  giveUp({ id, round }: Pick<Claimed, 'id' | 'round'>, why: GivenUp): void {
    this.#statements.giveUpOne.run(why, id, round);
  }

  /** Fails all pending deliveries of a webhook. */
  giveUpAllOf(webhookId: string, why: GivenUp): void {
    this.#statements.giveUp.run(why, webhookId);
  }

  erase(id: string): void {
    this.#statements.erase.run(id);
  }

  /** Deletes all deliveries of a webhook. */
  removeAllOf(webhookId: string): void {
    this.#statements.removeAll.run(webhookId);
  }

  /** Moves the deliveries of a webhook to its new host. */
  move(webhookId: string, host: string): void {
    this.#statements.move.run(host, webhookId);
  }

  find(id: string, webhookId: string): Delivery | null {
    const row = this.#statements.find.get(id, webhookId);
    return row === undefined ? null : toDelivery(row);
  }

  /** The deliveries of a webhook with a `seq` below `before`, newest first. */
  page(webhookId: string, before: number, limit: number): Delivery[] {
    return this.#statements.page.all(webhookId, before, limit).map(toDelivery);
  }

  /** Requests a redelivery, due at once. */
  sendAgain(id: string, nowMs: number): void {
    this.#statements.again.run(nowMs, id);
  }

  /** Whether a delivery is due only after `timeMs`. */
  isAnyDueAfter(timeMs: number): boolean {
    return this.#statements.isAnyDueAfter.get(timeMs) !== undefined;
  }

  /** Makes deliveries that are due only after `timeMs` due at `nowMs`. */
  pullTo(nowMs: number, timeMs: number): void {
    this.#statements.pullTo.run(nowMs, timeMs);
  }

  pending(): number {
    return this.#statements.pending.get()?.['n'] as number;
  }

  /** Whether a settled delivery was created before `timeMs`. */
  isAnyOld(timeMs: number): boolean {
    return this.#statements.anyOld.get(timeMs) !== undefined;
  }

  /**
   * Drops up to `limit` settled deliveries that were created before `beforeMs`. Pending ones stay: their attempts end, and the clock may
   * be ahead.
   */
  dropOld(beforeMs: number, limit: number): Dropped[] {
    return this.#statements.dropOld.all(beforeMs, limit).map(toDropped);
  }

  /** Channels that may hold too many deliveries: at first all, then channels that grew in this process. The caller removes checked ones. */
  get grown(): Set<string> {
    return (this.#grown ??= new Set(this.#statements.channels.all().map(({ channel }) => channel as string)));
  }

  /** Whether a channel has more than `max` deliveries. */
  isCrowded(channel: string, max: number): boolean {
    return this.#statements.isCrowded.get(channel, max) !== undefined;
  }

  /** Drops up to `limit` of a channel's deliveries beyond `max`: settled before pending ones, the oldest first. */
  dropBeyond(channel: string, max: number, limit: number): Dropped[] {
    const settled = this.#statements.dropSettled.all(channel, max, limit);
    return [...settled, ...this.#statements.dropBeyond.all(channel, max, limit - settled.length)].map(toDropped);
  }
}

/** Compresses the body of an event. */
export function packBody(body: string): Uint8Array {
  return zstdCompressSync(body);
}

/** Decompresses a body; null when it is damaged in the store. */
export function unpackBody(packed: Uint8Array): string | null {
  try {
    return zstdDecompressSync(packed).toString('utf8');
  } catch {
    return null;
  }
}

function toDropped(row: Readonly<Record<string, unknown>>): Dropped {
  return { channel: row['channel'] as string, isLost: row['next_at'] !== null };
}

function toDelivery(row: Readonly<Record<string, unknown>>): Delivery {
  return {
    seq: row['seq'] as number,
    id: row['id'] as string,
    type: row['type'] as EventType,
    state: row['state'] as DeliveryState,
    createdMs: row['created_at'] as number,
    attempts: row['attempts'] as number,
    nextMs: row['next_at'] as number | null,
    lastMs: row['last_at'] as number | null,
    lastStatus: row['last_status'] as number | null,
    lastError: row['last_error'] as string | null,
  };
}
