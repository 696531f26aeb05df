/** Webhooks as the store has them. What is written is so within a transaction. */
import { randomBytes } from 'node:crypto';
import type { Store } from '../store/store.ts';
import type { EventType } from './announcement.ts';
import type { WebhookFilter } from './filter.ts';

/** Why one is not in force: it was said so, its receiver answered 410, nothing could be delivered for days, or everybody whom its filter named was erased. */
export type DisabledReason = 'by_request' | 'gone' | 'failing' | 'nobody_left';

/** Times are epoch milliseconds. */
export interface Webhook {
  readonly id: string;
  readonly keyId: string;
  readonly url: string;
  readonly events: readonly EventType[];
  readonly filter: WebhookFilter;
  /** Null: it is in force. */
  readonly disabled: DisabledReason | null;
  /** Since when it is not. */
  readonly disabledMs: number | null;
  /** Since when all attempts to deliver have failed; null: the last one did not, or there was none. */
  readonly failingMs: number | null;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Deliveries that were thrown away undelivered because there were too many. */
  readonly dropped: number;
}

/** What its maker says of one. */
export type Wanted = Pick<Webhook, 'url' | 'events' | 'filter' | 'disabled'>;

/** How far the streams of what is told had come. */
export interface Places {
  readonly signals: number;
  readonly changes: number;
}

/** What is told to a webhook follows from these alone. */
export interface Standing {
  readonly webhook: Pick<Webhook, 'id' | 'keyId' | 'url' | 'events' | 'filter'>;
  readonly places: Places;
}

/** Secrets, and until when the former one signs, too. */
export interface Secrets {
  readonly secret: Uint8Array;
  readonly former: Uint8Array | null;
  readonly formerUntilMs: number;
}

/** In force. */
const ENABLED = 'SELECT id, key_id, events FROM webhooks WHERE enabled = 1 ORDER BY seq';

export class WebhookRows {
  readonly #statements;

  constructor(store: Store) {
    this.#statements = {
      insert: store.prepare('INSERT INTO webhooks (id, key_id, url, events, filter, enabled, disabled_reason, disabled_at, secret, created_at, updated_at, signals_seq, changes_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
      // A receiver at another address, and one that is tried again, have not failed yet.
      update: store.prepare(`
        UPDATE webhooks SET url = ?1, events = ?2, filter = ?3, enabled = ?4, disabled_reason = ?5, updated_at = ?6, signals_seq = max(signals_seq, coalesce(?7, 0)), changes_seq = max(changes_seq, coalesce(?8, 0)),
        disabled_at = iif(?4 = 1, NULL, coalesce(disabled_at, ?6)), failing_since = iif(url <> ?1 OR enabled < ?4, NULL, failing_since) WHERE id = ?9`),
      disable: store.prepare('UPDATE webhooks SET enabled = 0, disabled_reason = ?1, disabled_at = ?2, updated_at = ?2 WHERE id = ?3 AND enabled = 1'),
      failed: store.prepare('UPDATE webhooks SET failing_since = ? WHERE id = ? AND url = ? AND failing_since IS NULL'),
      delivered: store.prepare('UPDATE webhooks SET failing_since = NULL WHERE id = ? AND url = ? AND failing_since IS NOT NULL'),
      isElsewhere: store.prepare('SELECT 1 FROM webhooks WHERE id = ? AND enabled = 1 AND url <> ?'),
      isFailing: store.prepare('SELECT 1 FROM webhooks WHERE id = ? AND url = ? AND enabled = 1 AND failing_since <= ?'),
      remove: store.prepare('DELETE FROM webhooks WHERE id = ?'),
      rotate: store.prepare('UPDATE webhooks SET former_secret = secret, former_until = ?, secret = ?, updated_at = ? WHERE id = ?'),
      isAnyFormer: store.prepare('SELECT 1 FROM webhooks WHERE former_until <= ? LIMIT 1'),
      forgetFormer: store.prepare('UPDATE webhooks SET former_secret = NULL, former_until = NULL WHERE former_until <= ?'),
      find: store.prepare('SELECT * FROM webhooks WHERE id = ? AND key_id = ?'),
      byKey: store.prepare('SELECT * FROM webhooks WHERE key_id = ? ORDER BY seq DESC'),
      // No filter is read: there may be much in it.
      listeners: store.prepare('SELECT id, url FROM webhooks WHERE key_id = ? AND enabled = 1 AND instr(events, ?) > 0 ORDER BY seq DESC'),
      enabled: store.prepare(ENABLED),
      secrets: store.prepare('SELECT secret, former_secret, former_until FROM webhooks WHERE id = ?'),
      secretsByUrl: store.prepare('SELECT secret, former_secret, former_until FROM webhooks WHERE key_id = ? AND url = ? ORDER BY enabled DESC, seq LIMIT 1'),
      places: store.prepare('SELECT signals_seq AS signals, changes_seq AS changes FROM webhooks WHERE id = ? AND enabled = 1'),
      standing: store.prepare('SELECT * FROM webhooks WHERE id = ? AND enabled = 1'),
      seenSignals: store.prepare('UPDATE webhooks SET signals_seq = ? WHERE id = ?'),
      seenChanges: store.prepare('UPDATE webhooks SET changes_seq = ? WHERE id = ?'),
      dropped: store.prepare('UPDATE webhooks SET dropped = dropped + ? WHERE id = ?'),
    };
  }

  /** Puts a new one; returns it. */
  add(keyId: string, wanted: Wanted, secret: Uint8Array, { signals, changes }: Places, nowMs: number): Webhook {
    const id = `wh_${randomBytes(12).toString('base64url')}`;
    const { url, events, filter, disabled } = wanted;
    const disabledMs = disabled === null ? null : nowMs;
    this.#statements.insert.run(id, keyId, url, JSON.stringify(events), JSON.stringify(filter), Number(disabled === null), disabled, disabledMs, secret, nowMs, nowMs, signals, changes);
    return { id, keyId, ...wanted, disabledMs, failingMs: null, createdMs: nowMs, updatedMs: nowMs, dropped: 0 };
  }

  /** @param places where it goes on in the streams, unless it is further already; null: where it was */
  change(id: string, { url, events, filter, disabled }: Wanted, places: Places | null, nowMs: number): void {
    this.#statements.update.run(url, JSON.stringify(events), JSON.stringify(filter), Number(disabled === null), disabled, nowMs, places?.signals ?? null, places?.changes ?? null, id);
  }

  disable(id: string, reason: DisabledReason, nowMs: number): void {
    this.#statements.disable.run(reason, nowMs, id);
  }

  /** An attempt has come to nothing. @param url to which it went: the webhook may have another one by now */
  failed(id: string, url: string, nowMs: number): void {
    this.#statements.failed.run(nowMs, id, url);
  }

  delivered(id: string, url: string): void {
    this.#statements.delivered.run(id, url);
  }

  /** Whether one is in force, and has another address by now. */
  isElsewhere(id: string, url: string): boolean {
    return this.#statements.isElsewhere.get(id, url) !== undefined;
  }

  /** Whether one is in force, and nothing could be delivered to this address of it since a time. */
  isFailing(id: string, url: string, sinceMs: number): boolean {
    return this.#statements.isFailing.get(id, url, sinceMs) !== undefined;
  }

  remove(id: string): void {
    this.#statements.remove.run(id);
  }

  /** @param formerUntilMs until when the secret that it had signs, too */
  rotate(id: string, secret: Uint8Array, formerUntilMs: number, nowMs: number): void {
    this.#statements.rotate.run(formerUntilMs, secret, nowMs, id);
  }

  /** Whether there are secrets that were replaced and sign no more. */
  isAnyFormer(nowMs: number): boolean {
    return this.#statements.isAnyFormer.get(nowMs) !== undefined;
  }

  forgetFormer(nowMs: number): void {
    this.#statements.forgetFormer.run(nowMs);
  }

  /** Null: this key has none of this id. */
  find(id: string, keyId: string): Webhook | null {
    const row = this.#statements.find.get(id, keyId);
    return row === undefined ? null : toWebhook(row);
  }

  /** Newest first. */
  ofKey(keyId: string): Webhook[] {
    return this.#statements.byKey.all(keyId).map(toWebhook);
  }

  /** Those of a key that are in force and are told of events of this type, newest first. */
  listeners(keyId: string, type: EventType): Pick<Webhook, 'id' | 'url'>[] {
    return this.#statements.listeners.all(keyId, JSON.stringify(type)).map((row) => ({ id: row['id'] as string, url: row['url'] as string }));
  }

  /** All that are in force. */
  enabled(): Pick<Webhook, 'id' | 'keyId' | 'events'>[] {
    return this.#statements.enabled.all().map((row) => ({ id: row['id'] as string, keyId: row['key_id'] as string, events: JSON.parse(row['events'] as string) as EventType[] }));
  }

  /** How far one that is in force has come; null: it is not. */
  places(id: string): Places | null {
    return (this.#statements.places.get(id) as unknown as Places | undefined) ?? null;
  }

  /** Those of a webhook; null: there is none. */
  secrets(id: string): Secrets | null {
    return toSecrets(this.#statements.secrets.get(id));
  }

  /** Those of a key's webhook with this address. */
  secretsByUrl(keyId: string, url: string): Secrets | null {
    return toSecrets(this.#statements.secretsByUrl.get(keyId, url));
  }

  /** One that is in force, as it is now, and how far it has come; null: it is not, or not any more. */
  standing(id: string): Standing | null {
    const row = this.#statements.standing.get(id);
    if (row === undefined) return null;
    const { keyId, url, events, filter } = toWebhook(row);
    return { webhook: { id, keyId, url, events, filter }, places: { signals: row['signals_seq'] as number, changes: row['changes_seq'] as number } };
  }

  sawSignals(id: string, seq: number): void {
    this.#statements.seenSignals.run(seq, id);
  }

  sawChanges(id: string, seq: number): void {
    this.#statements.seenChanges.run(seq, id);
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
  return { secret: row['secret'] as Uint8Array, former: row['former_secret'] as Uint8Array | null, formerUntilMs: (row['former_until'] as number | null) ?? 0 };
}
