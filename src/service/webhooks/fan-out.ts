/** Fan-out: turns new signals and job changes into deliveries for each matching webhook, exactly once across all processes. */
import { isDeepStrictEqual } from 'node:util';
import { isBusy } from '../../sqlite/busy.ts';
import { transaction } from '../../sqlite/transaction.ts';
import type { Directory } from '../store/directory.ts';
import { ownerReader } from '../store/identity/domain-aliases.ts';
import type { SignalFeed } from '../store/rows/signal-feed.ts';
import type { Store } from '../store/store.ts';
import type { StoreWrites } from '../calls/store-writes.ts';
import { COMPANY_OF_CHANGE, eventBody, SIGNAL_EVENTS, type EventType } from './announcement.ts';
import type { NewDelivery } from './delivery.ts';
import { packBody, type DeliveryRows } from './delivery-rows.ts';
import { changeTest, signalFilter, signalTypesOf, type ChangeFacts } from './filter.ts';
import { JobChangeRows, type JobChange } from '../store/rows/job-change-rows.ts';
import type { StreamPositions, FanOutState, Webhook, WebhookRows } from './webhook-rows.ts';
import { isObject } from '../../util/is-object.ts';
import { JOB_CHANGE } from '../store/rows/job-change-rows.ts';

/** Events of one step for one webhook. */
const BATCH = 50;
/** A webhook's position is saved after this many signals without a match. Fewer are read again by the next step. */
const SAVE_POSITION_AFTER = 500;

const EVENT_OF: Readonly<Record<string, EventType>> = Object.fromEntries(
  Object.entries(SIGNAL_EVENTS).map(([event, type]) => [type, event as EventType]),
);

interface FanOutOptions {
  readonly store: Store;
  readonly webhooks: WebhookRows;
  readonly deliveries: DeliveryRows;
  readonly signals: SignalFeed;
  readonly directory: Pick<Directory, 'personById' | 'companyOf'>;
  readonly writes: StoreWrites;
  readonly now: () => number;
}

export class FanOut {
  readonly #options: FanOutOptions;
  readonly #changes: JobChangeRows;
  readonly #ownerOf: (domain: string) => string;

  constructor(options: FanOutOptions) {
    this.#options = options;
    this.#changes = new JobChangeRows(options.store);
    const ownerOf = ownerReader(options.store);
    this.#ownerOf = (domain) => ownerOf(domain) ?? domain;
  }

  /** The current ends of both streams. A new webhook gets the events after them. */
  streamEnds(): StreamPositions {
    return { signals: this.#options.signals.last(), changes: this.#changes.last() };
  }

  /** Makes deliveries of new signals for a webhook. Returns whether more signals may be left. */
  async fanOutSignals(id: string): Promise<boolean> {
    const { webhooks, signals: feed, now } = this.#options;
    // Usually nothing is new, and parsing the filter takes long.
    if ((webhooks.positions(id)?.signals ?? Infinity) >= feed.last()) return false;
    // Filter and position are read together, because a change of the filter also moves the position.
    const state = webhooks.fanOutState(id);
    if (state === null) return false;
    const {
      webhook: { keyId, url, events, filter },
      positions: { signals: position },
    } = state;
    const { signals, upTo } = feed.following(signalFilter(events, filter), position, BATCH);
    const deliveries = signals.map(({ record }) => {
      const type = EVENT_OF[record['type'] as string] as EventType;
      return {
        keyId,
        to: { webhookId: id },
        host: new URL(url).host,
        type,
        body: packBody(eventBody(type, now(), record)),
        about: { signal: record['id'] as string, person: null },
        createdMs: now(),
      };
    });
    if (deliveries.length === 0 && upTo - position < SAVE_POSITION_AFTER) return false;
    await this.#save(deliveries, state, () => webhooks.setSignalPosition(id, upTo));
    return true;
  }

  /** Makes deliveries of new job changes for a webhook. Returns whether more changes may be left. */
  async fanOutChanges(id: string): Promise<boolean> {
    const { webhooks, now } = this.#options;
    if ((webhooks.positions(id)?.changes ?? Infinity) >= this.#changes.last()) return false;
    const state = webhooks.fanOutState(id);
    if (state === null) return false;
    const {
      webhook: { keyId, url, filter },
      positions: { changes: from },
    } = state;
    const isWanted = changeTest(filter, this.#ownerOf);
    const changes = this.#changes.following(from, BATCH);
    const upTo = changes.at(-1)?.seq;
    if (upTo === undefined) return false;
    const deliveries = changes.flatMap((change) => {
      const found = this.#factsOf(change);
      if (found === null || !isWanted(found.facts)) return [];
      return [
        {
          keyId,
          to: { webhookId: id },
          host: new URL(url).host,
          type: JOB_CHANGE,
          body: packBody(eventBody(JOB_CHANGE, now(), found.data)),
          about: { signal: null, person: change.person },
          createdMs: now(),
        } as const,
      ];
    });
    await this.#save(deliveries, state, () => webhooks.setChangePosition(id, upTo));
    return true;
  }

  /**
   * Makes all deliveries of a webhook before it is changed. Returns `ends`, with 0 for a stream that was not finished in time.
   * @param ends the current ends of the streams
   * @param withinMs time limit, milliseconds
   */
  async fanOutAll(webhook: Webhook, ends: StreamPositions, withinMs: number): Promise<StreamPositions> {
    const untilMs = performance.now() + withinMs;
    const finish = async (step: () => Promise<boolean>): Promise<boolean> => {
      while (await step()) if (performance.now() >= untilMs) return false;
      return true;
    };
    const isDone = { signals: true, changes: true };
    if (signalTypesOf(webhook.events).length > 0) isDone.signals = await finish(() => this.fanOutSignals(webhook.id));
    if (webhook.events.includes(JOB_CHANGE)) isDone.changes = await finish(() => this.fanOutChanges(webhook.id));
    return { signals: isDone.signals ? ends.signals : 0, changes: isDone.changes ? ends.changes : 0 };
  }

  /**
   * Drops old job changes, and changes that every subscribed webhook has passed. Does nothing while an import writes.
   * @param subscribed ids of the webhooks that subscribe to job changes
   */
  prune(subscribed: readonly string[]): void {
    const { store, webhooks, now } = this.#options;
    if (!this.#changes.isAny()) return;
    const delivered = Math.min(Number.MAX_SAFE_INTEGER, ...subscribed.map((id) => webhooks.positions(id)?.changes ?? Infinity));
    try {
      transaction(store, () => this.#changes.prune(now(), delivered));
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
  }

  /** Saves deliveries and the new position, unless another process moved the position or the webhook was changed meanwhile. */
  async #save(deliveries: readonly NewDelivery[], state: FanOutState, move: () => void): Promise<void> {
    await this.#options.writes.write(() => {
      if (!isDeepStrictEqual(this.#options.webhooks.fanOutState(state.webhook.id), state)) return;
      for (const delivery of deliveries) this.#options.deliveries.add(delivery);
      move();
    });
  }

  /** `data` of a job change, without addresses and numbers, and the facts for filters; null when the person was removed. */
  #factsOf({
    person: id,
    from,
    to,
    atMs,
  }: JobChange): { readonly facts: ChangeFacts; readonly data: Readonly<Record<string, unknown>> } | null {
    const { directory } = this.#options;
    const row = directory.personById(id);
    if (row === null) return null;
    const { person } = row;
    const parsed: unknown = JSON.parse(directory.companyOf(row) ?? 'null');
    const company = isObject(parsed) ? Object.fromEntries(COMPANY_OF_CHANGE.map((field) => [field, parsed[field] ?? null])) : null;
    const domains = [from, to].flatMap(({ company_domain: domain }) => (domain === null ? [] : this.#ownerOf(domain)));
    const data = {
      person: id,
      name: person['name'] ?? null,
      title: person['title'] ?? null,
      linkedin_url: person['linkedin_url'] ?? null,
      company,
      from,
      to,
      detected_at: new Date(atMs).toISOString(),
    };
    return { facts: { domains, person }, data };
  }
}
