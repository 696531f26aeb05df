/** Which webhooks are in force, as they were when it was looked last: who tells something asks this first, and mostly nobody listens. */
import type { KeyRing } from '../key-ring.ts';
import { JOB_CHANGE, type EventType } from './announcement.ts';
import { signalTypesOf } from './filter.ts';
import type { WebhookRows } from './webhook-rows.ts';

export class Subscriptions {
  readonly #rows: WebhookRows;
  readonly #keys: Pick<KeyRing, 'digestsOf'>;
  #wanted = new Map<string, ReadonlySet<EventType>>();
  /** Those that are told of new signals, and of changes of jobs, by id. */
  ofSignals: readonly string[] = [];
  ofChanges: readonly string[] = [];

  constructor(rows: WebhookRows, keys: Pick<KeyRing, 'digestsOf'>) {
    this.#rows = rows;
    this.#keys = keys;
  }

  /** Looks again. */
  reload(): void {
    // Whoever lost their key hears no more.
    const byKey = [...Map.groupBy(this.#rows.enabled(), ({ keyId }) => keyId)].filter(([keyId]) => this.#keys.digestsOf(keyId).length > 0);
    const enabled = byKey.flatMap(([, webhooks]) => webhooks);
    this.#wanted = new Map(byKey.map(([keyId, webhooks]) => [keyId, new Set(webhooks.flatMap(({ events }) => events))]));
    this.ofSignals = enabled.flatMap(({ id, events }) => (signalTypesOf(events).length > 0 ? [id] : []));
    this.ofChanges = enabled.flatMap(({ id, events }) => (events.includes(JOB_CHANGE) ? [id] : []));
  }

  /** Whether a webhook of the key is told of events of this type. */
  wants(keyId: string, type: EventType): boolean {
    return this.#wanted.size > 0 && this.#wanted.get(keyId)?.has(type) === true;
  }
}
