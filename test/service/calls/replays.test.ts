/** Every POST of the published document: its first answer, and what a replay of it says later. */
import { expect, it } from 'vitest';
import { listKeys } from '../../../src/service/accounts/keys.ts';
import { OPERATIONS } from '../../../src/service/openapi/operations.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { makeKey, makeStore, type Reply } from '../harness.ts';
import { serveHooked, type Hooked } from '../webhooks/hooked.ts';

const JANE = 'jane.doe@acme.example';
const FORMER = 'jane@former.example';
const RECORDS = {
  company: { id: 'co_1', domain: 'acme.example' },
  people: [
    { id: 'pe_1', email: FORMER, name: 'Jane Doe', linkedin_url: 'profiles.example/in/jane', mobile: '+12125550100' },
    { id: 'pe_1', email: JANE, linkedin_url: 'profiles.example/in/jane' },
    { id: 'pe_2', email: 'max.past@acme.example', mobile: '+12125550101' },
  ],
  signals: [
    { id: 'sg_1', type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01', person: { id: 'pe_1', name: 'Jane Doe' } },
  ],
} as const;

/** Objects made before a POST is sent. Its path may need one of them. */
interface Made {
  readonly open: string;
  readonly full: string;
  readonly webhook: string;
  readonly delivery: string;
}

interface Case {
  readonly path?: (made: Made) => string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The request names Jane or is about her. */
  readonly isJane: boolean;
}

const graphql = (query: string): Case => ({ body: { query }, isJane: true });
const tracked = { event: 'job.change', url: 'http://127.0.0.1:9/hook', filter: { email: [JANE] } };

/** By operation; a new POST that is not in it fails. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  enrich: [
    { body: { email: JANE }, isJane: true },
    { body: { email: FORMER, fields: ['first_name'] }, isJane: true },
    { body: { id: 'pe_1', verify: true, fields: ['title', 'email_status'] }, isJane: true },
    // Nothing but a signal of the company is about her.
    { body: { domain: 'acme.example' }, isJane: true },
    { body: { email: 'solo@nowhere.example' }, isJane: false },
    { body: { email: 'nobody@acme.example', fields: ['id'] }, isJane: false },
  ],
  enrichBulk: [
    {
      body: {
        requests: [
          { params: { email: 'new@acme.example' } },
          { params: { id: 'pe_1', fields: ['title'] }, metadata: { row: 7 } },
          { params: { id: 'pe_3' } },
        ],
      },
      isJane: true,
    },
  ],
  searchContactsByBody: [
    { body: { title: 'CTO', fields: ['title'] }, isJane: true },
    { body: { name: 'Solo' }, isJane: false },
  ],
  revealContact: [
    { body: { linkedin_url: 'profiles.example/in/jane', verify: true }, isJane: true },
    { body: { id: 'pe_2', reveal_mobile: false }, isJane: true },
  ],
  verifyEmails: [
    { body: { emails: ['hired@acme.example', JANE.toUpperCase(), 'n/a'] }, isJane: true },
    { body: { email: FORMER }, isJane: true },
    { body: { emails: ['hired@acme.example'] }, isJane: false },
    // The answer says where the verdicts will be, and names no person.
    { body: { emails: [JANE] }, headers: { prefer: 'respond-async' }, isJane: false },
  ],
  graphql: [
    graphql('mutation { who: enrich(id: "pe_1") { headline: title } none: enrich(email: "new@acme.example") { name } }'),
    graphql('mutation { verifyEmails(emails: ["jane.doe@acme.example"]) { summary { deliverable undeliverable unknown } } }'),
    graphql('{ found: contacts(filter: { title: "CTO" }) { edges { node { role: title } } } }'),
    graphql('{ company(domain: "acme.example") { moves: signals { when: occurred_at } } }'),
    graphql('{ moves: signals(domain: ["acme.example"]) { edges { node { when: occurred_at } } } }'),
  ],
  createBatch: [
    { body: { operation: 'enrich', metadata: { contact: JANE } }, isJane: true },
    { body: { operation: 'verify' }, isJane: false },
  ],
  completeBatch: [{ path: ({ full }) => `/v1/batches/${full}/complete`, isJane: false }],
  cancelBatch: [{ path: ({ open }) => `/v1/batches/${open}/cancel`, isJane: false }],
  createWebhook: [
    { body: tracked, isJane: true },
    { body: { ...tracked, filter: { id: ['pe_1'] } }, isJane: true },
    { body: { ...tracked, filter: {} }, isJane: false },
  ],
  rotateWebhookSecret: [{ path: ({ webhook }) => `/v1/webhooks/${webhook}/rotate-secret`, isJane: true }],
  testWebhook: [{ path: ({ webhook }) => `/v1/webhooks/${webhook}/test`, isJane: false }],
  redeliverWebhook: [{ path: ({ webhook, delivery }) => `/v1/webhooks/${webhook}/deliveries/${delivery}/redeliver`, isJane: false }],
};

const POSTS = OPERATIONS.filter(({ method }) => method === 'POST');
/** Headers that belong to an answer; the others are of the request. */
const OF_ANSWERS = ['content-type', 'location', 'link', 'preference-applied', 'retry-after'];

function inStore<T>(path: string, work: (open: Store) => T): T {
  const open = openStore(path);
  try {
    return work(open);
  } finally {
    open.close();
  }
}

const answerOf = ({ status, text, headers }: Reply): unknown => [status, text, OF_ANSWERS.map((name) => headers.get(name))];
const costOf = ({ headers }: Reply): unknown => [headers.get('x-credits-charged'), headers.get('idempotency-replayed')];

it('every POST operation has cases for its replays', () => {
  expect(Object.keys(CASES).sort()).toEqual(POSTS.map(({ id }) => id).sort());
});

const SENT = POSTS.flatMap(({ id, path }) =>
  (CASES[id] ?? []).map((one, at) => ({ ...one, name: `${id} ${at}`, pathOf: one.path ?? ((): string => path) })),
);
type Sent = (typeof SENT)[number];

/** A service over a store, and all the requests to it. */
class Story {
  readonly store: string;
  readonly #key: string;
  #service: Hooked;
  #made: Made = { open: '', full: '', webhook: '', delivery: 'msg_1' };
  #first = new Map<Sent, Reply>();

  private constructor(store: string, key: string, service: Hooked) {
    this.store = store;
    this.#key = key;
    this.#service = service;
  }

  static async begin(): Promise<Story> {
    const store = await makeStore((open) => {
      loadPeople(open, RECORDS.people, 'crm');
      loadSignals(open, RECORDS.signals, 'crm');
    });
    const story = new Story(store, await makeKey(store, 'growth', { credits: 1_000 }), await serveHooked({ store }));
    await story.#make();
    return story;
  }

  async #make(): Promise<void> {
    const create = async (path: string, body: unknown): Promise<string> => String((await this.call('POST', path, body)).json['id']);
    const [open, full, webhook] = [
      await create('/v1/batches', { operation: 'enrich' }),
      await create('/v1/batches', { operation: 'enrich' }),
      await create('/v1/webhooks', tracked),
    ];
    await this.#service.request(`/v1/batches/${full}/parts/1`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/x-ndjson' },
      body: '{"params":{"id":"pe_3"}}\n',
    });
    inStore(this.store, (one) =>
      one.books
        .prepare(
          "INSERT INTO webhook_deliveries (id, key_id, channel, host, type, body, created_at, state) SELECT 'msg_1', key_id, id, " +
            "'127.0.0.1', 'job.change', x'', 1, 'failed' FROM webhooks",
        )
        .run(),
    );
    this.#made = { ...this.#made, open, full, webhook };
  }

  /** Sends all requests for the first time. */
  async ask(): Promise<ReadonlyMap<Sent, Reply>> {
    for (const one of SENT) this.#first.set(one, await this.send(one));
    return this.#first;
  }

  call(method: string, path: string, body?: unknown): Promise<Reply> {
    return this.#service.call(method, path, body, this.#key);
  }

  send({ pathOf, body, headers = {}, name }: Sent, other: unknown = body): Promise<Reply> {
    const authorization = { authorization: `Bearer ${this.#key}`, 'idempotency-key': name };
    return this.#service.request(pathOf(this.#made), {
      method: 'POST',
      ...(other === undefined
        ? { headers: { ...authorization, ...headers } }
        : { headers: { ...authorization, ...headers, 'content-type': 'application/json' }, body: JSON.stringify(other) }),
    });
  }

  async restart(): Promise<void> {
    await this.#service.close();
    this.#service = await serveHooked({ store: this.store });
  }

  /** The calls and credits of each key, once no write is pending. */
  async books(): Promise<unknown> {
    await this.restart();
    return inStore(this.store, (open) => listKeys(open).map(({ callsUsed, creditsUsed }) => [callsUsed, creditsUsed]));
  }

  async change(): Promise<void> {
    inStore(this.store, (open) => {
      loadCompanies(
        open,
        [
          {
            ...RECORDS.company,
            name: 'Umbrella',
            employees: 7,
            revenue: '$1M',
            stack: ['Cobol'],
            accepts_all: true,
            description: 'new',
            industry: 'Mining',
          },
        ],
        'later',
      );
      loadPeople(
        open,
        Object.entries({ pe_1: 'Jane Doe Smith', pe_2: 'Max Past Smith', pe_3: 'Søren Solo Smith' }).map(([id, name]) => ({
          id,
          email: `${id}@moved.example`,
          name,
          title: 'Janitor',
          mobile: `+1212555019${id.at(-1) ?? ''}`,
          email_status: 'bounced',
          linkedin_url: `profiles.example/in/${id}`,
          skills: ['new'],
        })),
        'later',
      );
      loadPeople(
        open,
        [
          { id: 'pe_9', email: 'nobody@acme.example', name: 'Late Comer', title: 'CTO' },
          { id: 'pe_8', email: 'new@acme.example' },
        ],
        'later',
      );
      loadSignals(open, [{ id: 'sg_2', type: 'hiring', domain: 'acme.example', occurred_at: '2026-02-01' }], 'later');
    });
    expect((await this.call('POST', '/v1/enrich', { id: 'pe_3' })).json).toMatchObject({ title: 'Janitor', email: 'pe_3@moved.example' });
    // It costs a credit when its turn comes.
    await expect.poll(async () => (await this.call('GET', `/v1/batches/${this.#made.full}`)).json['state']).toBe('completed');
    expect((await this.call('DELETE', `/v1/webhooks/${this.#made.webhook}`)).status).toBe(204);
  }

  async expectSame(isAsBefore: (one: Sent) => boolean = () => true): Promise<void> {
    for (const [one, first] of this.#first) {
      const again = await this.send(one);
      if (isAsBefore(one)) expect(answerOf(again), one.name).toEqual(answerOf(first));
      else expect([again.status, again.json['code']], one.name).toEqual([451, 'suppressed_person']);
      expect(costOf(again), one.name).toEqual(['0', 'true']);
    }
  }
}

it('a replay of any POST is the first answer, byte for byte and free, also after a restart; after an erasure it is 451', async () => {
  const story = await Story.begin();
  const first = await story.ask();
  for (const [{ name }, { status, text, headers }] of first)
    expect([[200, 201, 202].includes(status) || name === 'enrich 5', headers.get('idempotency-replayed')], `${name}: ${text}`).toEqual([
      true,
      null,
    ]);
  await story.change();
  const books = await story.books();
  await story.expectSame();
  expect(await story.books()).toEqual(books);
  await story.expectSame();
  for (const one of SENT) expect((await story.send(one, { other: true })).json['code'], one.name).toBe('idempotency_mismatch');

  const isOfOthers = ({ isJane }: Sent): boolean => !isJane;
  inStore(story.store, (open) => suppress(open, [FORMER], Date.now()));
  await story.expectSame(isOfOthers);
  await story.restart();
  await story.expectSame(isOfOthers);
});
