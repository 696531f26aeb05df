/** A cache of the enabled webhooks. Each event is looked up here first, because usually no webhook wants it. */
import type { KeyRing } from '../accounts/key-ring.ts';
import { type EventType } from './announcement.ts';
import { JOB_CHANGE } from '../store/rows/job-change-rows.ts';
import { signalTypesOf } from './filter.ts';
import type { WebhookRows } from './webhook-rows.ts';

export class Subscriptions {
  readonly #rows: WebhookRows;
  readonly #keys: Pick<KeyRing, 'digestsOf'>;
  #wanted = new Map<string, ReadonlySet<EventType>>();
  /** Ids of the webhooks that subscribe to signals, and to job changes. */
  ofSignals: readonly string[] = [];
  ofChanges: readonly string[] = [];

  constructor(rows: WebhookRows, keys: Pick<KeyRing, 'digestsOf'>) {
    this.#rows = rows;
    this.#keys = keys;
  }

  /** Reads the webhooks again. */
  reload(): void {
    // Webhooks of revoked keys get no events.
    const byKey = [...Map.groupBy(this.#rows.enabled(), ({ keyId }) => keyId)].filter(([keyId]) => this.#keys.digestsOf(keyId).length > 0);
    const enabled = byKey.flatMap(([, webhooks]) => webhooks);
    this.#wanted = new Map(byKey.map(([keyId, webhooks]) => [keyId, new Set(webhooks.flatMap(({ events }) => events))]));
    this.ofSignals = enabled.flatMap(({ id, events }) => (signalTypesOf(events).length > 0 ? [id] : []));
    this.ofChanges = enabled.flatMap(({ id, events }) => (events.includes(JOB_CHANGE) ? [id] : []));
  }

  /** Whether a webhook of the key wants events of this type. */
  wants(keyId: string, type: EventType): boolean {
    return this.#wanted.size > 0 && this.#wanted.get(keyId)?.has(type) === true;
  }
}
