/** The table of webhooks. Writes run within the caller's transaction. */
import { randomBytes } from 'node:crypto';
import type { Store } from '../store/store.ts';
import type { EventType } from './announcement.ts';
import type { WebhookFilter } from './filter.ts';

/** Why a webhook is disabled: by request, after a 410, after days of failures, or because all people in its filter were erased. */
type DisabledReason = 'by_request' | 'gone' | 'failing' | 'nobody_left';

/** Times are epoch milliseconds. */
export interface Webhook {
  readonly id: string;
  readonly keyId: string;
  readonly url: string;
  readonly events: readonly EventType[];
  readonly filter: WebhookFilter;
  /** Why the webhook is disabled; null when it is enabled. */
  readonly disabled: DisabledReason | null;
  /** When the webhook was disabled. */
  readonly disabledMs: number | null;
  /** Since when all attempts have failed; null when the last one succeeded, or none was made. */
  readonly failingMs: number | null;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Pending deliveries that were dropped because of the limit. */
  readonly dropped: number;
}

/** The fields that a request sets. */
export type Wanted = Pick<Webhook, 'url' | 'events' | 'filter' | 'disabled'>;

/** The last processed event of each of the two event streams. */
export interface StreamPositions {
  readonly signals: number;
  readonly changes: number;
}

/** Everything that decides which events a webhook gets next. */
export interface FanOutState {
  readonly webhook: Pick<Webhook, 'id' | 'keyId' | 'url' | 'events' | 'filter'>;
  readonly positions: StreamPositions;
}

/** The current secret, and the former one, which stays valid until `formerUntilMs`. */
export interface Secrets {
  readonly secret: Uint8Array;
  readonly former: Uint8Array | null;
  readonly formerUntilMs: number;
}

const ENABLED = 'SELECT id, key_id, events FROM webhooks WHERE enabled = 1 ORDER BY seq';

export class WebhookRows {
  readonly #statements;

  constructor(store: Store) {
    this.#statements = {
      insert: store.books.prepare(
        'INSERT INTO webhooks (id, key_id, url, events, filter, enabled, disabled_reason, disabled_at, secret, created_at, ' +
          'updated_at, signals_seq, changes_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      ),
      // Another URL, or enabling the webhook, resets `failing_since`.
      update: store.books.prepare(`
        UPDATE webhooks SET url = ?1, events = ?2, filter = ?3, enabled = ?4, disabled_reason = ?5, updated_at = ?6,
        signals_seq = max(signals_seq, coalesce(?7, 0)), changes_seq = max(changes_seq, coalesce(?8, 0)),
        disabled_at = iif(?4 = 1, NULL, coalesce(disabled_at, ?6)),
        failing_since = iif(url <> ?1 OR enabled < ?4, NULL, failing_since) WHERE id = ?9`),
      disable: store.books.prepare(
        'UPDATE webhooks SET enabled = 0, disabled_reason = ?1, disabled_at = ?2, updated_at = ?2 WHERE id = ?3 AND enabled = 1',
      ),
      failed: store.books.prepare('UPDATE webhooks SET failing_since = ? WHERE id = ? AND url = ? AND failing_since IS NULL'),
      delivered: store.books.prepare('UPDATE webhooks SET failing_since = NULL WHERE id = ? AND url = ? AND failing_since IS NOT NULL'),
      isElsewhere: store.books.prepare('SELECT 1 FROM webhooks WHERE id = ? AND enabled = 1 AND url <> ?'),
      isFailing: store.books.prepare('SELECT 1 FROM webhooks WHERE id = ? AND url = ? AND enabled = 1 AND failing_since <= ?'),
      remove: store.books.prepare('DELETE FROM webhooks WHERE id = ?'),
      rotate: store.books.prepare('UPDATE webhooks SET former_secret = secret, former_until = ?, secret = ?, updated_at = ? WHERE id = ?'),
      isAnyFormer: store.books.prepare('SELECT 1 FROM webhooks WHERE former_until <= ? LIMIT 1'),
      deleteFormer: store.books.prepare('UPDATE webhooks SET former_secret = NULL, former_until = NULL WHERE former_until <= ?'),
      find: store.books.prepare('SELECT * FROM webhooks WHERE id = ? AND key_id = ?'),
      byKey: store.books.prepare('SELECT * FROM webhooks WHERE key_id = ? ORDER BY seq DESC'),
      // Filters may be large, so they are not read here.
      listeners: store.books.prepare(
        'SELECT id, url FROM webhooks WHERE key_id = ? AND enabled = 1 AND instr(events, ?) > 0 ORDER BY seq DESC',
      ),
      enabled: store.books.prepare(ENABLED),
      secrets: store.books.prepare('SELECT secret, former_secret, former_until FROM webhooks WHERE id = ?'),
      secretsByUrl: store.books.prepare(
        'SELECT secret, former_secret, former_until FROM webhooks WHERE key_id = ? AND url = ? ORDER BY enabled DESC, seq LIMIT 1',
      ),
      positions: store.books.prepare('SELECT signals_seq AS signals, changes_seq AS changes FROM webhooks WHERE id = ? AND enabled = 1'),
      fanOutState: store.books.prepare('SELECT * FROM webhooks WHERE id = ? AND enabled = 1'),
      setSignals: store.books.prepare('UPDATE webhooks SET signals_seq = ? WHERE id = ?'),
      setChanges: store.books.prepare('UPDATE webhooks SET changes_seq = ? WHERE id = ?'),
      dropped: store.books.prepare('UPDATE webhooks SET dropped = dropped + ? WHERE id = ?'),
    };
  }

  /** Inserts and returns a new webhook, which gets the events after the given stream positions. */
  add(keyId: string, wanted: Wanted, secret: Uint8Array, { signals, changes }: StreamPositions, nowMs: number): Webhook {
    const id = `wh_${randomBytes(12).toString('base64url')}`;
    const { url, events, filter, disabled } = wanted;
    const disabledMs = disabled === null ? null : nowMs;
    this.#statements.insert.run(
      id,
      keyId,
      url,
      JSON.stringify(events),
      JSON.stringify(filter),
      Number(disabled === null),
      disabled,
      disabledMs,
      secret,
      nowMs,
      nowMs,
      signals,
      changes,
    );
    return { id, keyId, ...wanted, disabledMs, failingMs: null, createdMs: nowMs, updatedMs: nowMs, dropped: 0 };
  }

  /** Changes a webhook. @param positions moves its stream positions forward, never back; null leaves them */
  change(id: string, { url, events, filter, disabled }: Wanted, positions: StreamPositions | null, nowMs: number): void {
    this.#statements.update.run(
      url,
      JSON.stringify(events),
      JSON.stringify(filter),
      Number(disabled === null),
      disabled,
      nowMs,
      positions?.signals ?? null,
      positions?.changes ?? null,
      id,
    );
  }

  disable(id: string, reason: DisabledReason, nowMs: number): void {
    this.#statements.disable.run(reason, nowMs, id);
  }

  /** Records a failed attempt. @param url the URL of the attempt: it is ignored if the webhook has another one now */
  failed(id: string, url: string, nowMs: number): void {
    this.#statements.failed.run(nowMs, id, url);
  }

  /** Records a successful attempt. */
  delivered(id: string, url: string): void {
    this.#statements.delivered.run(id, url);
  }

  /** Whether a webhook is enabled and has another URL now. */
  isElsewhere(id: string, url: string): boolean {
    return this.#statements.isElsewhere.get(id, url) !== undefined;
  }

  /** Whether a webhook is enabled, still has this URL, and all its attempts have failed since `sinceMs` or longer. */
  isFailing(id: string, url: string, sinceMs: number): boolean {
    return this.#statements.isFailing.get(id, url, sinceMs) !== undefined;
  }

  remove(id: string): void {
    this.#statements.remove.run(id);
  }

  /** Replaces the secret. @param formerUntilMs until when the former secret stays valid, epoch milliseconds */
  rotate(id: string, secret: Uint8Array, formerUntilMs: number, nowMs: number): void {
    this.#statements.rotate.run(formerUntilMs, secret, nowMs, id);
  }

  /** Whether a former secret has expired. */
  isAnyFormer(nowMs: number): boolean {
    return this.#statements.isAnyFormer.get(nowMs) !== undefined;
  }

  /** Deletes expired former secrets. */
  deleteFormer(nowMs: number): void {
    this.#statements.deleteFormer.run(nowMs);
  }

  /** The webhook with this id; null unless it belongs to this key. */
  find(id: string, keyId: string): Webhook | null {
    const row = this.#statements.find.get(id, keyId);
    return row === undefined ? null : toWebhook(row);
  }

  /** The webhooks of a key, newest first. */
  ofKey(keyId: string): Webhook[] {
    return this.#statements.byKey.all(keyId).map(toWebhook);
  }

  /** The enabled webhooks of a key that subscribe to an event type, newest first. */
  listeners(keyId: string, type: EventType): Pick<Webhook, 'id' | 'url'>[] {
    return this.#statements.listeners
      .all(keyId, JSON.stringify(type))
      .map((row) => ({ id: row['id'] as string, url: row['url'] as string }));
  }

  /** All enabled webhooks. */
  enabled(): Pick<Webhook, 'id' | 'keyId' | 'events'>[] {
    return this.#statements.enabled.all().map((row) => ({
      id: row['id'] as string,
      keyId: row['key_id'] as string,
      events: JSON.parse(row['events'] as string) as EventType[],
    }));
  }

  /** The stream positions of an enabled webhook; null when it is disabled or deleted. */
  positions(id: string): StreamPositions | null {
    return (this.#statements.positions.get(id) as unknown as StreamPositions | undefined) ?? null;
  }

  /** The secrets of a webhook; null when it was deleted. */
  secrets(id: string): Secrets | null {
    return toSecrets(this.#statements.secrets.get(id));
  }

  /** The secrets of a key's webhook with this URL; null when the key has none. */
  secretsByUrl(keyId: string, url: string): Secrets | null {
    return toSecrets(this.#statements.secretsByUrl.get(keyId, url));
  }

  /** The current settings and stream positions of an enabled webhook; null when it is disabled or deleted. */
  fanOutState(id: string): FanOutState | null {
    const row = this.#statements.fanOutState.get(id);
    if (row === undefined) return null;
    const { keyId, url, events, filter } = toWebhook(row);
    return {
      webhook: { id, keyId, url, events, filter },
      positions: { signals: row['signals_seq'] as number, changes: row['changes_seq'] as number },
    };
  }

  setSignalPosition(id: string, seq: number): void {
    this.#statements.setSignals.run(seq, id);
  }

  setChangePosition(id: string, seq: number): void {
    this.#statements.setChanges.run(seq, id);
  }

  countDropped(id: string, count: number): void {
    this.#statements.dropped.run(count, id);
  }
}

function toWebhook(row: Readonly<Record<string, unknown>>): Webhook {
  return {
    id: row['id'] as string,
    keyId: row['key_id'] as string,
    url: row['url'] as string,
    events: JSON.parse(row['events'] as string) as EventType[],
    filter: JSON.parse(row['filter'] as string) as WebhookFilter,
    disabled: row['enabled'] === 1 ? null : ((row['disabled_reason'] ?? 'by_request') as DisabledReason),
    disabledMs: row['disabled_at'] as number | null,
    failingMs: row['failing_since'] as number | null,
    createdMs: row['created_at'] as number,
    updatedMs: row['updated_at'] as number,
    dropped: row['dropped'] as number,
  };
}

function toSecrets(row: Readonly<Record<string, unknown>> | undefined): Secrets | null {
  if (row === undefined) return null;
  return {
    secret: row['secret'] as Uint8Array,
    former: row['former_secret'] as Uint8Array | null,
    formerUntilMs: (row['former_until'] as number | null) ?? 0,
  };
}
