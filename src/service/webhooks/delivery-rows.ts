/** What is to be delivered, and what became of it, as the store has it. What is written is so within a transaction. */
import { randomBytes } from 'node:crypto';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Store } from '../store/store.ts';
import type { EventType } from './announcement.ts';
import type { Claimed, Delivery, DeliveryState, Dropped, GivenUp, NewDelivery, Outcome } from './delivery.ts';
import type { Lane } from './slots.ts';

const SHOWN = 'seq, id, type, state, created_at, attempts, next_at, last_at, last_status, last_error';
/** The address is the webhook's as it is now. */
const CLAIMED = `SELECT d.id, d.key_id, iif(d.url IS NULL, d.channel, NULL) AS webhook_id, coalesce(d.url, w.url) AS url, d.host, d.body, d.signal, d.person, d.created_at, d.attempts, d.round, d.url IS NULL AND w.enabled IS NOT 1 AS disabled
  FROM webhook_deliveries AS d LEFT JOIN webhooks AS w ON w.id = d.channel`;

export class DeliveryRows {
  readonly #statements;
  /** Made here since it was set to 0. */
  added = 0;
  #grown: Set<string> | null = null;

  constructor(store: Store) {
    this.#statements = {
      insert: store.prepare('INSERT INTO webhook_deliveries (id, key_id, channel, url, host, type, body, signal, person, created_at, state, next_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
      isDue: store.prepare('SELECT 1 FROM webhook_deliveries WHERE next_at <= ? LIMIT 1'),
      keyAfter: store.prepare('SELECT key_id AS place FROM webhook_deliveries WHERE next_at IS NOT NULL AND key_id > ? ORDER BY key_id LIMIT 1'),
      hostAfter: store.prepare('SELECT host AS place, next_at AS nextMs FROM webhook_deliveries WHERE next_at IS NOT NULL AND key_id = ? AND host > ? ORDER BY host, next_at LIMIT 1'),
      due: store.prepare(`${CLAIMED} WHERE d.key_id = ? AND d.host = ? AND d.next_at <= ? ORDER BY d.next_at LIMIT ?`),
      dueOne: store.prepare(`${CLAIMED} WHERE d.id = ? AND d.key_id = ? AND d.host = ? AND d.next_at <= ?`),
      isWaiting: store.prepare('SELECT 1 FROM webhook_deliveries WHERE id = ? AND next_at IS NOT NULL'),
      take: store.prepare('UPDATE webhook_deliveries SET next_at = ? WHERE id = ? AND next_at IS NOT NULL'),
      settle: store.prepare('UPDATE webhook_deliveries SET state = ?1, attempts = ?2, next_at = ?3, last_at = ?4, last_status = ?5, last_error = ?6 WHERE id = ?7 AND round = ?8 AND attempts = ?2 - 1 AND (next_at IS NOT NULL OR ?3 IS NULL)'),
      giveUp: store.prepare("UPDATE webhook_deliveries SET state = 'failed', next_at = NULL, last_error = ? WHERE channel = ? AND next_at IS NOT NULL"),
      giveUpOne: store.prepare("UPDATE webhook_deliveries SET state = 'failed', next_at = NULL, last_error = ? WHERE id = ? AND round = ?"),
      erase: store.prepare('DELETE FROM webhook_deliveries WHERE id = ?'),
      forget: store.prepare('DELETE FROM webhook_deliveries WHERE channel = ?'),
      find: store.prepare(`SELECT ${SHOWN} FROM webhook_deliveries WHERE id = ? AND channel = ?`),
      page: store.prepare(`SELECT ${SHOWN} FROM webhook_deliveries WHERE channel = ? AND seq < ? ORDER BY seq DESC LIMIT ?`),
      again: store.prepare("UPDATE webhook_deliveries SET state = 'pending', attempts = 0, round = round + 1, next_at = ? WHERE id = ?"),
      move: store.prepare('UPDATE webhook_deliveries SET host = ? WHERE channel = ?'),
      isAnyBehind: store.prepare('SELECT 1 FROM webhook_deliveries WHERE next_at > ? LIMIT 1'),
      pullTo: store.prepare('UPDATE webhook_deliveries SET next_at = ? WHERE next_at > ?'),
      pending: store.prepare('SELECT count(*) AS n FROM webhook_deliveries WHERE next_at IS NOT NULL'),
      anyOld: store.prepare('SELECT 1 FROM webhook_deliveries WHERE next_at IS NULL AND created_at < ? LIMIT 1'),
      dropOld: store.prepare('DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries WHERE next_at IS NULL AND created_at < ? ORDER BY created_at LIMIT ?) RETURNING channel, next_at'),
      // From one to the next by the index: to read all of it takes too long.
      channels: store.prepare(`
        WITH RECURSIVE known (channel) AS (SELECT min(channel) FROM webhook_deliveries UNION ALL SELECT (SELECT min(channel) FROM webhook_deliveries WHERE channel > known.channel) FROM known WHERE known.channel IS NOT NULL)
        SELECT channel FROM known WHERE channel IS NOT NULL`),
      isCrowded: store.prepare('SELECT 1 FROM webhook_deliveries WHERE channel = ? LIMIT 1 OFFSET ?'),
      dropSettled: store.prepare(`
        DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries WHERE channel = ?1 AND next_at IS NULL ORDER BY seq
        LIMIT max(0, min(?3, (SELECT count(*) FROM webhook_deliveries WHERE channel = ?1) - ?2))) RETURNING channel, next_at`),
      dropBeyond: store.prepare(`
        DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries WHERE channel = ?1
        AND seq <= (SELECT seq FROM webhook_deliveries WHERE channel = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2) ORDER BY seq LIMIT ?3) RETURNING channel, next_at`),
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

  /** The next key for which something waits; null: none is behind `keyId`. */
  keyAfter(keyId: string): { readonly place: string } | null {
    return (this.#statements.keyAfter.get(keyId) as { readonly place: string } | undefined) ?? null;
  }

  /** The next host for which something of a key waits, and when the first of it is tried. */
  hostAfter(keyId: string, host: string): { readonly place: string; readonly nextMs: number } | null {
    return (this.#statements.hostAfter.get(keyId, host) as { readonly place: string; readonly nextMs: number } | undefined) ?? null;
  }

  /** Takes what is due of a key for a host; until `untilMs` no other process does. @param first the id of the one that is taken before others, where it is due */
  claim({ keyId, host }: Lane, nowMs: number, untilMs: number, most: number, first: string | null): Claimed[] {
    const one = first === null || most === 0 ? [] : this.#taken(this.#statements.dueOne.all(first, keyId, host, nowMs), untilMs);
    return [...one, ...this.#taken(this.#statements.due.all(keyId, host, nowMs, most - one.length), untilMs)];
  }

  #taken(rows: readonly Readonly<Record<string, unknown>>[], untilMs: number): Claimed[] {
    return rows.map((row) => {
      const id = row['id'] as string;
      this.take(id, untilMs);
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

  /** Whether one is still to be tried. */
  isWaiting(id: string): boolean {
    return this.#statements.isWaiting.get(id) !== undefined;
  }

  /** From `nextMs` on anybody may try one, unless it is settled by then. */
  take(id: string, nextMs: number): void {
    this.#statements.take.run(nextMs, id);
  }

  /** What an attempt came to, unless it was begun anew with the delivery meanwhile, or somebody else's attempt was quicker; one that was given up meanwhile is not tried again. Whether it is noted. */
  settle({ id, round }: Pick<Claimed, 'id' | 'round'>, { state, attempts, nextMs, lastMs, lastStatus, lastError }: Outcome): boolean {
    return Number(this.#statements.settle.run(state, attempts, nextMs, lastMs, lastStatus, lastError, id, round).changes) > 0;
  }

  /** One is not tried any more, unless it was begun anew meanwhile. */
  giveUp({ id, round }: Pick<Claimed, 'id' | 'round'>, why: GivenUp): void {
    this.#statements.giveUpOne.run(why, id, round);
  }

  /** Nothing more is tried of what waits for a webhook. */
  giveUpAllOf(webhookId: string, why: GivenUp): void {
    this.#statements.giveUp.run(why, webhookId);
  }

  erase(id: string): void {
    this.#statements.erase.run(id);
  }

  /** Forgets all deliveries of a webhook. */
  forgetAllOf(webhookId: string): void {
    this.#statements.forget.run(webhookId);
  }

  /** The webhook has another address. */
  move(webhookId: string, host: string): void {
    this.#statements.move.run(host, webhookId);
  }

  find(id: string, webhookId: string): Delivery | null {
    const row = this.#statements.find.get(id, webhookId);
    return row === undefined ? null : toDelivery(row);
  }

  /** Newest first, behind the place `before`. */
  page(webhookId: string, before: number, limit: number): Delivery[] {
    return this.#statements.page.all(webhookId, before, limit).map(toDelivery);
  }

  /** Begins anew with one, at once. */
  sendAgain(id: string, nowMs: number): void {
    this.#statements.again.run(nowMs, id);
  }

  /** Whether any waits for a later time than that. */
  isAnyBehind(timeMs: number): boolean {
    return this.#statements.isAnyBehind.get(timeMs) !== undefined;
  }

  /** What waits for a later time than `timeMs` is due at `nowMs`. */
  pullTo(nowMs: number, timeMs: number): void {
    this.#statements.pullTo.run(nowMs, timeMs);
  }

  pending(): number {
    return this.#statements.pending.get()?.['n'] as number;
  }

  /** Whether there are settled ones that were made before a time. */
  isAnyOld(timeMs: number): boolean {
    return this.#statements.anyOld.get(timeMs) !== undefined;
  }

  /** Drops up to `most` of those. What waits stays, for it comes to its end by itself: the clock that calls it old may be ahead. */
  dropOld(beforeMs: number, most: number): Dropped[] {
    return this.#statements.dropOld.all(beforeMs, most).map(toDropped);
  }

  /** Webhooks, and keys without one, that may have got too many deliveries: at first all there are, then those that have got more here. Whoever has looked at one takes it out. */
  get grown(): Set<string> {
    return (this.#grown ??= new Set(this.#statements.channels.all().map(({ channel }) => channel as string)));
  }

  /** Whether one of these has more deliveries than `most`. */
  isCrowded(channel: string, most: number): boolean {
    return this.#statements.isCrowded.get(channel, most) !== undefined;
  }

  /** Drops up to `atOnce` of what one of these has beyond `most`: what is settled, and only then what is not; the oldest first. */
  dropBeyond(channel: string, most: number, atOnce: number): Dropped[] {
    const settled = this.#statements.dropSettled.all(channel, most, atOnce);
    return [...settled, ...this.#statements.dropBeyond.all(channel, most, atOnce - settled.length)].map(toDropped);
  }
}

/** A body as it is kept: one that goes to several is packed once. */
export function packBody(body: string): Uint8Array {
  return zstdCompressSync(body);
}

/** What `packBody` has packed; null: it is none of that, for the store is damaged. */
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
