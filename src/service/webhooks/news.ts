/** New signals and changes of jobs, made into deliveries for the webhooks that are to be told of them: each once, whichever service over the store looks first. */
import { isDeepStrictEqual } from 'node:util';
import type { Directory } from '../store/directory.ts';
import { ownerReader } from '../store/domain-aliases.ts';
import type { SignalFeed } from '../store/signal-feed.ts';
import type { Store } from '../store/store.ts';
import type { StoreWrites } from '../store-writes.ts';
import { COMPANY_OF_CHANGE, eventBody, JOB_CHANGE, SIGNAL_EVENTS, type EventType } from './announcement.ts';
import type { NewDelivery } from './delivery.ts';
import { packBody, type DeliveryRows } from './delivery-rows.ts';
import { changeTest, signalFilter, signalTypesOf, type ChangeFacts } from './filter.ts';
import { JobChangeRows, type JobChange } from './job-change-rows.ts';
import type { Places, Standing, Webhook, WebhookRows } from './webhook-rows.ts';
import { isObject } from '../values.ts';

/** Told to a webhook in one go. */
const AT_ONCE = 50;
/** Where so many signals were none for a webhook, it is noted that they were looked at; fewer are looked at again. */
const NOTED_AFTER = 500;

const EVENT_OF: Readonly<Record<string, EventType>> = Object.fromEntries(Object.entries(SIGNAL_EVENTS).map(([event, type]) => [type, event as EventType]));

export interface NewsOptions {
  readonly store: Store;
  readonly webhooks: WebhookRows;
  readonly deliveries: DeliveryRows;
  readonly signals: SignalFeed;
  readonly directory: Pick<Directory, 'personById' | 'companyOf'>;
  readonly writes: StoreWrites;
  readonly now: () => number;
}

export class News {
  readonly #options: NewsOptions;
  readonly #changes: JobChangeRows;
  readonly #ownerOf: (domain: string) => string;

  constructor(options: NewsOptions) {
    this.#options = options;
    this.#changes = new JobChangeRows(options.store);
    const ownerOf = ownerReader(options.store);
    this.#ownerOf = (domain) => ownerOf(domain) ?? domain;
  }

  /** The ends of both streams: whoever subscribes now is told of what comes behind them. */
  ends(): Places {
    return { signals: this.#options.signals.last(), changes: this.#changes.last() };
  }

  /** Tells a webhook of signals that are new. True: there may be more. */
  async tellSignals(id: string): Promise<boolean> {
    const { webhooks, signals: feed, now } = this.#options;
    // Mostly there is nothing new, and a filter takes long to read.
    if ((webhooks.places(id)?.signals ?? Infinity) >= feed.last()) return false;
    // As it is by now: another filter has another place.
    const standing = webhooks.standing(id);
    if (standing === null) return false;
    const { webhook: { keyId, url, events, filter }, places: { signals: place } } = standing;
    const { signals, upTo } = feed.following(signalFilter(events, filter), place, AT_ONCE);
    const told = signals.map(({ record }) => {
      const type = EVENT_OF[record['type'] as string] as EventType;
      return { keyId, to: { webhookId: id }, host: new URL(url).host, type, body: packBody(eventBody(type, now(), record)), about: { signal: record['id'] as string, person: null }, createdMs: now() };
    });
    if (told.length === 0 && upTo - place < NOTED_AFTER) return false;
    await this.#put(told, standing, () => webhooks.sawSignals(id, upTo));
    return true;
  }

  /** Tells a webhook of changes of jobs that are new. True: there may be more. */
  async tellChanges(id: string): Promise<boolean> {
    const { webhooks, now } = this.#options;
    if ((webhooks.places(id)?.changes ?? Infinity) >= this.#changes.last()) return false;
    const standing = webhooks.standing(id);
    if (standing === null) return false;
    const { webhook: { keyId, url, filter }, places: { changes: from } } = standing;
    const isWanted = changeTest(filter, this.#ownerOf);
    const changes = this.#changes.following(from, AT_ONCE);
    const upTo = changes.at(-1)?.seq;
    if (upTo === undefined) return false;
    const told = changes.flatMap((change) => {
      const found = this.#known(change);
      if (found === null || !isWanted(found.facts)) return [];
      return [{ keyId, to: { webhookId: id }, host: new URL(url).host, type: JOB_CHANGE, body: packBody(eventBody(JOB_CHANGE, now(), found.data)), about: { signal: null, person: change.person }, createdMs: now() } as const];
    });
    await this.#put(told, standing, () => webhooks.sawChanges(id, upTo));
    return true;
  }

  /** Tells a webhook of what is new, before it is changed. @param ends of the streams @param withinMs after which it is left at that, milliseconds. Returns how far it has come: to the ends, or to 0 where there is more */
  async tellAll(webhook: Webhook, ends: Places, withinMs: number): Promise<Places> {
    const untilMs = performance.now() + withinMs;
    const all = async (tell: () => Promise<boolean>): Promise<boolean> => {
      while (await tell()) if (performance.now() >= untilMs) return false;
      return true;
    };
    const isTold = { signals: true, changes: true };
    if (signalTypesOf(webhook.events).length > 0) isTold.signals = await all(() => this.tellSignals(webhook.id));
    if (webhook.events.includes(JOB_CHANGE)) isTold.changes = await all(() => this.tellChanges(webhook.id));
    return { signals: isTold.signals ? ends.signals : 0, changes: isTold.changes ? ends.changes : 0 };
  }

  /** Drops changes that all have been told of who want to know, and old ones that all of `told` have. @param told ids of the webhooks that are told of changes here */
  async prune(told: readonly string[]): Promise<void> {
    const { webhooks, writes, now } = this.#options;
    if (!this.#changes.isAny()) return;
    await writes.write(() => this.#changes.prune(now(), Math.min(Number.MAX_SAFE_INTEGER, ...told.map((id) => webhooks.places(id)?.changes ?? Infinity))));
  }

  /** Puts deliveries, and notes how far it was looked; not where another service has done so meanwhile, or the webhook was changed. */
  async #put(told: readonly NewDelivery[], standing: Standing, move: () => void): Promise<void> {
    await this.#options.writes.write(() => {
      if (!isDeepStrictEqual(this.#options.webhooks.standing(standing.webhook.id), standing)) return;
      for (const delivery of told) this.#options.deliveries.add(delivery);
      move();
    });
  }

  /** What is told of a change, by what is known of the person now; null: they are not there any more. No address and no number: those are revealed. */
  #known({ person: id, from, to, atMs }: JobChange): { readonly facts: ChangeFacts; readonly data: Readonly<Record<string, unknown>> } | null {
    const { directory } = this.#options;
    const row = directory.personById(id);
    if (row === null) return null;
    const { person } = row;
    const told: unknown = JSON.parse(directory.companyOf(row) ?? 'null');
    const company = isObject(told) ? Object.fromEntries(COMPANY_OF_CHANGE.map((field) => [field, told[field] ?? null])) : null;
    const domains = [from, to].flatMap(({ company_domain: domain }) => (domain === null ? [] : this.#ownerOf(domain)));
    const data = { person: id, name: person['name'] ?? null, title: person['title'] ?? null, linkedin_url: person['linkedin_url'] ?? null, company, from, to, detected_at: new Date(atMs).toISOString() };
    return { facts: { domains, person }, data };
  }
}
