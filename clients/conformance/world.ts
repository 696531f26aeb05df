/** The real service that the clients are tested against, with keys, a receiver of webhooks and the values that scenarios name. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKey, listKeys, type NewKey } from '../../src/service/accounts/keys.ts';
import { startService, type RunningService } from '../../src/service/app/start-service.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { loadPeople, loadSignals } from '../../src/service/store/rows/load.ts';
import type { Store } from '../../src/service/store/store.ts';
import { csvTexts, recordLengths } from './csv-texts.ts';
import { deliveryValues, Receiver } from './deliveries.ts';
import type { KeyWish } from './scenario.ts';

const KEYS: Readonly<Record<Exclude<KeyWish, object> | 'usual', NewKey | null>> = {
  usual: { plan: 'enterprise' },
  unknown: null,
  without_credits: { plan: 'enterprise', credits: 0 },
  of_eu: { plan: 'enterprise', region: 'eu' },
  trial: { plan: 'trial' },
  growth: { plan: 'growth' },
};

/** Every fault of the service itself, often. */
const FAULTS = { errorRate: 0.1, dropRate: 0.2, latencyJitterMs: 2, seed: 27 } as const;

interface Served {
  readonly service: RunningService;
  readonly store: Store;
}

export class World {
  /** Named values: `$name` in scenarios.yaml. */
  readonly values: Record<string, unknown> = {};
  readonly #folder: string;
  readonly #served: Readonly<Record<'usual' | 'flaky', Served>>;
  readonly #receiver: Receiver;
  /** Ids of keys by the key. */
  readonly #keys = new Map<string, { readonly id: string; readonly store: Store }>();
  #added = 0;
  #isClosed = false;

  private constructor(folder: string, served: Readonly<Record<'usual' | 'flaky', Served>>, receiver: Receiver) {
    this.#folder = folder;
    this.#served = served;
    this.#receiver = receiver;
  }

  static async open(): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-clients-'));
    const open = async (name: string, faults?: typeof FAULTS): Promise<Served> => {
      const path = join(folder, `${name}.sqlite`);
      const service = await startService({ store: path, sample: true, development: true, ...(faults === undefined ? {} : { faults }) });
      return { service, store: openStore(path) };
    };
    const served = { usual: await open('usual'), flaky: await open('flaky', FAULTS) };
    const receiver = await Receiver.start();
    const world = new World(folder, served, receiver);
    await world.#nameValues();
    return world;
  }

  /** Where the service listens. */
  urlOf(service: 'usual' | 'flaky'): string {
    return this.#served[service].service.url;
  }

  /** A new key, so that no scenario disturbs another. */
  key(wish: KeyWish | undefined, service: 'usual' | 'flaky'): string {
    const wanted: NewKey | null = typeof wish === 'object' ? { plan: 'enterprise', ...wish } : KEYS[wish ?? 'usual'];
    if (wanted === null) return `mr_us_${randomBytes(16).toString('hex')}`;
    const { store } = this.#served[service];
    const { id, key } = createKey(store, wanted);
    this.#keys.set(key, { id, store });
    return key;
  }

  /** Credits that a key has left. */
  creditsLeft(key: string): number {
    const known = this.#keys.get(key);
    const row = known === undefined ? undefined : listKeys(known.store).find(({ id }) => id === known.id);
    if (row?.credits === undefined || row.credits === null) throw new Error('the key of this scenario has no credits');
    return row.credits - row.creditsUsed;
  }

  /** Stores people in Germany whose names are spread over the alphabet. */
  addPeople(count: number): void {
    const people = Array.from({ length: count }, () => {
      const name = `${String.fromCodePoint(65 + (this.#added++ % 26))}${this.#added} Newcomer`;
      return { email: `newcomer.${this.#added}@acme.example`, name, location: { country: 'Germany', country_code: 'DE' } };
    });
    loadPeople(this.#served.usual.store, people, 'arrival');
  }

  /** Stores signals of the year 2031. */
  addSignals(count: number): void {
    if (this.#isClosed) return;
    const signals = Array.from({ length: count }, () => ({
      id: `sg_live_${++this.#added}`,
      type: 'technology_change',
      occurred_at: '2031-02-03',
      detected_at: '2031-02-03T00:00:00Z',
      company: { name: 'Cobalt Materials', domain: 'cobalt-materials.example' },
      data: { change: 'added', technology: `Tool ${this.#added}`, category: 'tools' },
    }));
    loadSignals(this.#served.usual.store, signals, 'arrival');
  }

  /** Signs the deliveries of `values` anew, because their time must be near while a language runs. */
  async signDeliveries(): Promise<void> {
    Object.assign(this.values, await deliveryValues(this.urlOf('usual'), this.key(undefined, 'usual'), this.#receiver));
  }

  /** Calls the service with a key until it answers 429. */
  async spendQuota(key: string): Promise<void> {
    const call = async (): Promise<number> => {
      const response = await fetch(`${this.urlOf('usual')}/v1/signals?limit=1`, { headers: { authorization: `Bearer ${key}` } });
      await response.text();
      return response.status;
    };
    while (!(await Promise.all(Array.from({ length: 20 }, call))).includes(429));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#receiver.close();
    for (const { service, store } of Object.values(this.#served)) {
      store.close();
      // Connections that scenarios have broken are not waited for.
      await service.close(AbortSignal.abort());
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #nameValues(): Promise<void> {
    const { values } = this;
    const key = this.key(undefined, 'usual');
    const get = async (path: string, headers: Record<string, string> = {}): Promise<string> =>
      (await fetch(this.urlOf('usual') + path, { headers: { authorization: `Bearer ${key}`, ...headers } })).text();
    const totalOf = async (country: string): Promise<unknown> =>
      (JSON.parse(await get(`/v1/contacts/search?country=${country}&limit=1`)) as { meta: { total: number } }).meta.total;
    const linesOf = async (query: string): Promise<string[]> =>
      (await get(`/v1/signals${query}`, { accept: 'application/x-ndjson' }))
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id);
    values['all_of_france'] = await totalOf('FR');
    values['all_of_germany'] = await totalOf('DE');
    values['all_funding'] = (await linesOf('?type=funding')).length;
    values['signals_in_order'] = await linesOf('');
    values['signals_behind_the_tenth'] = (values['signals_in_order'] as string[]).slice(10);
    values['tenth_event_id'] = await this.#eventId(key, 10);
    values['suppressed_email'] = 'adaeze.okafor@fathom-retail.example';
    values['too_many_emails'] = Array.from({ length: 1001 }, (_, i) => `a${i}@acme.example`);
    values['many_domains'] = [
      'cobalt-materials.example',
      'tundra-logistics.example',
      ...Array.from({ length: 300 }, (_, i) => `nobody-${i}.example`),
    ];
    values['hundred_lines'] = Array.from({ length: 100 }, (_, i) => ({
      custom_id: `line-${i}`,
      email: 'jerome.noel@tundra-logistics.example',
    }));
    values['too_large'] = `{"name":"${'x'.repeat(17 * 1024 * 1024)}"}`;
    values['deep_json'] = `{"record":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    values['csv_texts'] = csvTexts();
    values['csv_record_lengths'] = csvTexts().map(recordLengths);
    values['receiver'] = this.#receiver.url;
    values['csv_file'] = join(this.#folder, 'lines.csv');
    await writeFile(String(values['csv_file']), csvText());
    values['stray_csv_file'] = join(this.#folder, 'stray.csv');
    await writeFile(String(values['stray_csv_file']), strayCsv());
  }

  async #eventId(key: string, number: number): Promise<string> {
    const stop = new AbortController();
    const response = await fetch(`${this.urlOf('usual')}/v1/signals?since=2000-01-01`, {
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
      signal: stop.signal,
    });
    let text = '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      const ids = [...text.matchAll(/^id: (\d+)\n/gm)];
      if (ids.length < number) continue;
      stop.abort();
      return ids[number - 1]?.[1] ?? '';
    }
    throw new Error(`the service has fewer than ${number} signals`);
  }
}

/** 9 MiB with a quote that nobody closes, and others that open nothing. */
function strayCsv(): string {
  const rows = Array.from({ length: 9_000 }, (_, i) => `19" rack ${i} ${'x'.repeat(1_000)},nobody-${i}@acme.example\n`);
  return `custom_id,email\nfirst,"never closed\n${rows.join('')}`;
}

/** 6 MiB: more than a part, and several blocks of a file. */
function csvText(): string {
  const long = Array.from({ length: 118 }, (_, i) => `long-${i},,"${'x ""y""\n'.repeat(6_500)}"\r\n`);
  return `custom_id,email,name\r\n"two\nlines",jerome.noel@tundra-logistics.example,\r\nb,nobody@acme.example,\r\n${long.join('')}`;
}
