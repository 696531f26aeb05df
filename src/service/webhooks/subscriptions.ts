/** Which webhooks are in force, as they were when it was looked last: who tells something asks this first, and mostly nobody listens. */
import type { EventType } from './announcement.ts';
import { JOB_CHANGE } from './announcement.ts';
import { signalTypesOf } from './filter.ts';
import type { Webhook, WebhookRows } from './webhook-rows.ts';

export class Subscriptions {
  readonly #rows: WebhookRows;
  #wanted = new Map<string, ReadonlySet<EventType>>();
  /** Those that are told of new signals, and of changes of jobs. */
  ofSignals: readonly Webhook[] = [];
  ofChanges: readonly Webhook[] = [];

  constructor(rows: WebhookRows) {
    this.#rows = rows;
  }

  /** Looks again. */
  reload(): void {
    const enabled = this.#rows.enabled();
    this.#wanted = new Map([...Map.groupBy(enabled, ({ keyId }) => keyId)].map(([keyId, webhooks]) => [keyId, new Set(webhooks.flatMap(({ events }) => events))]));
    this.ofSignals = enabled.filter(({ events }) => signalTypesOf(events).length > 0);
    this.ofChanges = enabled.filter(({ events }) => events.includes(JOB_CHANGE));
  }

  /** Whether a webhook of the key is told of events of this type. */
  wants(keyId: string, type: EventType): boolean {
    return this.#wanted.size > 0 && this.#wanted.get(keyId)?.has(type) === true;
  }

  get isEmpty(): boolean {
    return this.#wanted.size === 0;
  }
}
