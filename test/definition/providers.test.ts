import { describe, expect, it, test } from 'vitest';
import { compileJob, describeDifference } from '../../src/definition/compile-job.ts';
import type { CompiledJob } from '../../src/definition/compiled-job.ts';
import { keyVariable, providerChannels, paceOf } from '../../src/definition/job-provider.ts';
import { compileProvider } from '../../src/providers/definition/compile-provider.ts';
import type { CompiledProvider } from '../../src/providers/compiled-provider.ts';
import { refusalOf, sources, type Flags } from './support.ts';

const LOOKUP = {
  keys: ['email', 'name+company'],
  request: { method: 'GET', path: '/people', query: { email: 'email', name: 'name', company: 'company' } },
  record: { name: 'body.name' },
};

function definition(name: string, value: Readonly<Record<string, unknown>> = {}): CompiledProvider {
  const written = { name, baseUrl: `https://${name}.example`, operations: { enrich: LOOKUP }, ...value };
  const given = Object.fromEntries(Object.entries(written).filter(([, one]) => one !== null));
  return compileProvider({ file: `${name}.yaml`, value: given, places: new Map() });
}

const QUOTA = { defaultPlan: 'free', quota: { plans: { free: ['60/minute', '1000/day'], pro: ['10/second', '600/minute'] } } };
const VERIFY = {
  keys: ['email'],
  request: { method: 'GET', path: '/verify', query: { email: 'email' } },
  record: { email: 'body.email', result: 'body.result' },
};
const DEFINITIONS = new Map([
  ['acme', definition('acme', QUOTA)],
  ['bolt', definition('bolt', { operations: { enrich: LOOKUP, verify: { ...VERIFY, quota: { plans: {} } } } })],
  ['./own.yaml', definition('own')],
  [
    'millrace',
    definition('millrace', {
      client: 'built-in',
      baseUrl: null,
      operations: {
        enrich: { ...LOOKUP, keys: ['email', 'domain', 'phone'], request: { path: '/', query: { e: 'email', d: 'domain', p: 'phone' } } },
        verify: VERIFY,
      },
    }),
  ],
]);

const LEAST: Flags = { input: 'leads.csv', output: 'out.csv' };

function job(file: unknown, flags: Flags = {}, lines?: ReadonlyMap<string, number>): { job: CompiledJob; warnings: string[] } {
  return compileJob({
    ...sources({ file, flags: { ...LEAST, ...flags }, ...(lines === undefined ? {} : { lines }) }),
    definitions: DEFINITIONS,
  });
}

const refused = (file: unknown, flags: Flags = {}, lines?: ReadonlyMap<string, number>): string => {
  const { message, exitCode } = refusalOf(() => job(file, flags, lines));
  return `${exitCode} ${message}`;
};

describe('a job that names its providers', () => {
  it('may want a field that only a definition has, however near a known name is', () => {
    const own = definition('own', { operations: { enrich: { ...LOOKUP, record: { name: 'body.name', phone: 'body.tel' } } } });
    const made = (until: string[]) =>
      compileJob({
        ...sources({ file: { providers: { own: {} }, steps: [{ enrich: { until } }] }, flags: LEAST }),
        definitions: new Map([['own', own]]),
      }).job;
    expect(made(['phone']).waterfalls.enrich?.until).toEqual(['phone']);
    expect(refusalOf(() => made(['titel'])).message).toContain('is no field of an answer');
  });

  it('has the settings of each, and for each step whom it asks by which keys', () => {
    const { job: made, warnings } = job({
      providers: {
        acme: { plan: 'pro', creditPrice: '0.1 EUR' },
        mine: { use: './own.yaml', baseUrl: 'https://eu.own.example/', onUnavailable: 'skip' },
      },
      steps: [{ enrich: { from: ['mine', 'acme'], until: ['email', 'company.name'], fields: 'whole' } }],
    });
    expect(warnings).toEqual([]);
    expect(made.steps).toEqual(['enrich']);
    expect(made.waterfalls).toEqual({
      enrich: {
        from: ['mine', 'acme'],
        keys: [
          ['email', 'company'],
          ['email', 'company'],
        ],
        until: ['email', 'company.name'],
        fields: 'whole',
      },
    });
    expect(made.options.enrich.by).toEqual(['email', 'name']);
    const [acme, mine] = made.providers;
    expect(acme).toMatchObject({
      name: 'acme',
      plan: 'pro',
      baseUrl: 'https://acme.example',
      creditPrice: { perCredit: 0.1, currency: 'EUR' },
      onUnavailable: 'wait',
    });
    expect(mine).toMatchObject({ name: 'mine', plan: null, baseUrl: 'https://eu.own.example', onUnavailable: 'skip' });
  });

  it('asks every provider that has a step, in their order, when the step does not say whom', () => {
    const { job: made } = job({ providers: { bolt: {}, acme: {} }, steps: ['enrich', 'verify'] });
    expect(made.waterfalls.enrich?.from).toEqual(['bolt', 'acme']);
    expect(made.waterfalls.verify).toMatchObject({ from: ['bolt'], until: ['deliverable', 'undeliverable', 'risky'] });
  });

  it('uses the keys of a provider in its own order, unless the job says which keys a step uses', () => {
    const file = { providers: { millrace: { embedded: true }, acme: {} }, steps: ['enrich'] };
    expect(job(file).job.waterfalls.enrich?.keys).toEqual([
      ['email', 'domain'],
      ['email', 'company'],
    ]);
    expect(job({ ...file, enrich: { by: ['phone', 'name', 'email'] } }).job.waterfalls.enrich?.keys).toEqual([
      ['phone', 'email'],
      ['company', 'email'],
    ]);
  });

  it('may say what a service may: its rate, a shared quota, the field of a domain', () => {
    const settings = { embedded: true, rpm: 90, windows: ['5/second'], quota: 'redis://localhost:6379/1', fields: { domain: 'website' } };
    const { job: made, warnings } = job({ providers: { millrace: settings }, steps: ['enrich'] });
    const [provider] = made.providers;
    expect(provider).toMatchObject({ plan: null, quota: 'redis://localhost:6379/1', domainField: 'website' });
    if (provider === undefined) throw new Error('the job has a provider');
    expect(paceOf(provider, provider.definition.quota)).toEqual({ rpm: 90, windows: [{ limit: 5, periodMs: 1_000 }], isShared: true });
    expect(made.fingerprint).toMatchObject({ 'providers.millrace.fields.domain': 'website' });
    expect(warnings).toEqual([]);
    const refused = (own: object): string => refusalOf(() => job({ providers: own, steps: ['enrich'] })).message;
    expect(refused({ acme: { fields: { domain: 'website' } } })).toContain('providers.acme.fields is for the definition millrace');
    expect(refused({ acme: { quota: 'http://localhost' } })).toContain('is no address of a Redis server');
    expect(refused({ acme: { quota: 'redis://:secret@localhost' } })).toContain('a password does not belong into a flag or a job file');
  });

  it('takes windows of the plan, or those of the job in their place', () => {
    const of = (settings: object): unknown => {
      const { job: made } = job({ providers: { acme: settings }, steps: ['enrich'] });
      const [provider] = made.providers;
      const [channel] = provider === undefined ? [] : providerChannels(provider, made);
      if (provider === undefined || channel === undefined) throw new Error('the provider has a channel');
      const { rpm, windows } = paceOf(provider, channel.quota);
      return [rpm, windows];
    };
    expect(of({})).toEqual([60, [{ limit: 1000, periodMs: 86_400_000 }]]);
    expect(of({ plan: 'pro' })).toEqual([600, [{ limit: 10, periodMs: 1000 }]]);
    expect(of({ windows: ['7/hour'] })).toEqual([null, [{ limit: 7, periodMs: 3_600_000 }]]);
    expect(job({ providers: { acme: {} }, steps: ['enrich'] }).warnings).toEqual([expect.stringContaining('taking the plan free')]);
  });

  it('asks no provider in vain: one without a key that the job chooses is refused', () => {
    expect(
      refused({ providers: { acme: {}, millrace: { baseUrl: 'https://m.example' } }, steps: ['enrich'], enrich: { by: ['phone'] } }),
    ).toBe('78 enrich.from: acme takes none of the keys in enrich.by (phone), and so would never be asked (jobs/nightly.yaml)');
  });

  it('counts operations with a quota of their own apart', () => {
    const { job: made } = job({ providers: { bolt: {} }, steps: ['enrich', 'verify'] });
    const [bolt] = made.providers;
    expect(bolt === undefined ? [] : providerChannels(bolt, made).map(({ steps }) => steps)).toEqual([['enrich'], ['verify']]);
  });

  it('may set one key of a provider by a flag, over the file', () => {
    const { job: made } = job(
      { providers: { acme: { plan: 'pro', maxCredits: 5 } }, steps: ['enrich'] },
      { 'providers.acme.plan': 'free', 'providers.acme.maxCalls': '9', 'providers.acme.windows': '1/second,9/minute' },
    );
    expect(made.providers[0]).toMatchObject({
      plan: 'free',
      maxCredits: 5,
      maxCalls: 9,
      windows: [
        { limit: 1, periodMs: 1000 },
        { limit: 9, periodMs: 60_000 },
      ],
    });
  });

  it('may be resumed at another pace and with other limits, and not with other answers', () => {
    const print = (provider: object, rule: object = {}): Record<string, unknown> =>
      job({ providers: { acme: provider, bolt: {} }, steps: [{ enrich: { from: ['acme', 'bolt'], ...rule } }] }).job.fingerprint;
    const before = print({});
    expect(
      describeDifference(
        before,
        print({
          plan: 'pro',
          windows: ['1/second'],
          maxCredits: 3,
          onUnavailable: 'skip',
          timeoutMs: 1000,
          concurrency: 2,
          creditPrice: '1 EUR',
        }),
      ),
    ).toBeNull();
    expect(describeDifference(before, print({ baseUrl: 'https://b.example' }))).toContain('providers.acme.baseUrl was');
    expect(describeDifference(before, print({}, { until: ['title'] }))).toContain('steps.enrich.until was []');
    expect(describeDifference(before, print({}, { from: ['bolt', 'acme'] }))).toContain('steps.enrich.from was');
    expect(describeDifference(before, print({ use: './own.yaml' }))).toContain('providers.acme.use was');
  });

  it('may be resumed with a definition that changes pace, credits and waits, and with no other one', () => {
    const poll = { ticket: 'body.id', request: { path: '/jobs/{ticket}' }, everySeconds: 1, longestSeconds: 60 };
    const lookup = { ...LOOKUP, answers: { pending: 'status = 202' }, poll, credits: '1' };
    const print = (more: object, ofLookup: object = {}): Record<string, unknown> =>
      compileJob({
        ...sources({ file: { providers: { acme: {} }, steps: ['enrich'] }, flags: LEAST }),
        definitions: new Map([['acme', definition('acme', { operations: { enrich: { ...lookup, ...ofLookup } }, ...more })]]),
      }).job.fingerprint;
    const before = print({});
    const query = { ...LOOKUP.request.query, quota: '1' };
    const others: readonly (readonly [object, object])[] = [
      [
        { timeoutMs: 5_000, quota: { plans: { pro: ['9/minute'] } }, defaultPlan: 'pro' },
        { credits: '2', creditsAtMost: 2 },
      ],
      [{}, { poll: { ...poll, everySeconds: 5, longestSeconds: 600 }, quota: { plans: {} } }],
    ];
    for (const [more, ofLookup] of others) expect(describeDifference(before, print(more, ofLookup))).toBeNull();
    const refusedOnes: readonly (readonly [object, object])[] = [
      [{ headers: { 'x-api-version': '2' } }, {}],
      [{}, { request: { ...LOOKUP.request, query } }],
      [{}, { record: { name: 'body.full_name' } }],
      [{}, { poll: { ...poll, ticket: 'body.ticket' } }],
    ];
    for (const [more, ofLookup] of refusedOnes)
      expect(describeDifference(before, print(more, ofLookup))).toMatch(
        /^providers\.acme, (?:enrich|verify|company|reveal) in its definition has changed/,
      );
  });
});

test('a provider has its API key in a variable of its own', () => {
  expect(keyVariable('pdl')).toBe('MILLRACE_PDL_API_KEY');
  expect(keyVariable('my-pdl2')).toBe('MILLRACE_MY_PDL2_API_KEY');
});

describe('a job whose providers cannot be asked is refused', () => {
  const enrich = (rule: object): object => ({ providers: { acme: {}, bolt: {} }, steps: [{ enrich: rule }] });
  test.each<[string, unknown, Flags, RegExp]>([
    [
      'a rule without providers',
      { steps: [{ enrich: { from: ['acme'] } }], service: { embedded: true } },
      {},
      /^78 the step enrich has a rule, and the job names no providers/,
    ],
    [
      'a provider that no step asks',
      { providers: { acme: {}, bolt: {} }, steps: [{ enrich: { from: ['acme'] } }] },
      {},
      /^78 providers\.bolt: no step asks this provider/,
    ],
    [
      'a service beside providers',
      { providers: { acme: {} }, service: { baseUrl: 'https://x.example' } },
      {},
      /^78 service\.baseUrl is about the one service of a job/,
    ],
    ['a flag of the service beside providers', { providers: { acme: {} } }, { rpm: '5' }, /^64 --rpm is about the one service/],
    ['a misspelt provider', enrich({ from: ['acmee'] }), {}, /^78 enrich\.from: there is no provider "acmee"; did you mean acme\?/],
    [
      'a step that a provider lacks',
      { providers: { acme: {} }, steps: ['enrich', { verify: { from: ['acme'] } }] },
      {},
      /^78 verify\.from: the definition of acme has no verify/,
    ],
    [
      'a step that no provider has',
      { providers: { acme: {} }, steps: ['enrich', 'reveal'] },
      {},
      /^78 no provider of this job has the step reveal/,
    ],
    ['a misspelt field', enrich({ until: ['titel'] }), {}, /^78 enrich\.until: "titel" is no field of an answer; did you mean title\?/],
    ['a misspelt key of a rule', enrich({ form: ['acme'] }), {}, /^78 steps: enrich has no key form; did you mean from\?/],
    ['a rule of the wrong kind', enrich({ fields: 'most' }), {}, /^78 steps: enrich\.fields cannot be "most"/],
    [
      'a verdict that does not exist',
      { providers: { bolt: {} }, steps: [{ verify: { until: ['good'] } }] },
      {},
      /^78 steps: verify\.until cannot be \["good"\]/,
    ],
    [
      'two steps in one entry',
      { providers: { bolt: {} }, steps: [{ enrich: {}, verify: {} }] },
      {},
      /^78 steps: each step is an entry of its own/,
    ],
    [
      'a misspelt step with a rule',
      { providers: { bolt: {} }, steps: [{ enrihc: {} }] },
      {},
      /^78 steps: there is no step "enrihc"; did you mean enrich\?/,
    ],
    [
      'an unknown plan',
      { providers: { acme: { plan: 'prp' } }, steps: ['enrich'] },
      {},
      /^78 providers\.acme\.plan: there is no plan "prp"; did you mean pro\?/,
    ],
    [
      'an unknown setting',
      { providers: { acme: { plam: 'pro' } } },
      {},
      /^78 providers\.acme\.plam is no key of a provider; did you mean plan\?/,
    ],
    [
      'a setting of the wrong kind',
      { providers: { acme: { maxCredits: 'many' } } },
      {},
      /^78 providers\.acme\.maxCredits cannot be "many"/,
    ],
    ['an API key in the job', { providers: { acme: { apiKey: 'x' } } }, {}, /^78 providers\.acme\.apiKey does not belong in a job/],
    [
      'an address with a password',
      { providers: { acme: { baseUrl: 'https://a:b@x.example' } }, steps: ['enrich'] },
      {},
      /^78 providers\.acme\.baseUrl must not hold a user name or password/,
    ],
    ['the specification without an address', { providers: { millrace: {} } }, {}, /^78 providers\.millrace has no address/],
    [
      'an embedded vendor',
      { providers: { acme: { embedded: true } }, steps: ['enrich'] },
      {},
      /^78 providers\.acme: embedded stands for the data service of Millrace/,
    ],
    [
      'a bad setting by a flag',
      { providers: { acme: {} }, steps: ['enrich'] },
      { 'providers.acme.maxCalls': 'x' },
      /^64 --providers\.acme\.maxCalls: providers\.acme\.maxCalls cannot be "x"/,
    ],
  ])('%s', (_, file, flags, expected) => {
    expect(refused(file, flags)).toMatch(expected);
  });

  it('names the line of a setting in the file', () => {
    const lines = new Map([['providers.acme.plam', 7]]);
    expect(refused({ providers: { acme: { plam: 'pro' } } }, {}, lines)).toContain('(jobs/nightly.yaml, line 7)');
  });
});
