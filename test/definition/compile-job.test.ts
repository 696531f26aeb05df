import { BUILT_IN } from '../../src/providers/definition/built-in.ts';
import { expect, test } from 'vitest';
import { compileJob, describeDifference } from '../../src/definition/compile-job.ts';
import { KEYS } from '../../src/definition/keys.ts';
import { LEAST, compiled, refusalOf, sources } from './support.ts';

const NO_OPTIONS = { minLikelihood: 0, required: [], when: 'always', patienceMs: 0 };

test('the smallest job gets its defaults', () => {
  const { fingerprint: _, ...job } = compiled({ flags: LEAST });
  expect(job).toEqual({
    name: 'leads',
    day: null,
    conditions: {},
    ownSteps: [],
    suppress: null,
    input: {
      uris: ['leads.csv'],
      format: null,
      delimiter: null,
      skipLines: 0,
      header: true,
      encoding: null,
      columns: {},
      country: null,
      ifMissing: 'fail',
      where: null,
    },
    steps: ['enrich', 'verify'],
    namesProviders: false,
    providers: [
      {
        name: 'service',
        definition: BUILT_IN,
        baseUrl: null,
        embedded: true,
        plan: 'enterprise',
        windows: [],
        quota: null,
        domainField: 'domain',
        concurrency: 'auto',
        timeoutMs: 30_000,
        onUnavailable: 'wait',
        maxCalls: null,
        maxCredits: null,
        creditPrice: null,
      },
    ],
    waterfalls: {
      enrich: { from: ['service'], keys: [['email', 'domain']], until: [], fields: 'whole' },
      verify: { from: ['service'], keys: [['email']], until: [], fields: 'whole' },
    },
    options: {
      enrich: { by: ['email', 'domain'], ...NO_OPTIONS },
      verify: { by: ['email'], ...NO_OPTIONS },
      company: { by: ['domain'], ...NO_OPTIONS },
      reveal: { by: ['linkedin_url'], ...NO_OPTIONS },
    },
    output: {
      uri: 'out/leads.jsonl.gz',
      earlier: [],
      format: 'jsonl',
      compression: 'gzip',
      fields: null,
      escapeFormulas: false,
      delimiter: null,
      bom: null,
      split: null,
      lineEnds: 'lf',
      marker: null,
    },
    checkpoint: { uri: 'out/leads.jsonl.gz.checkpoint.json', everyMs: 1000 },
    ledger: { uri: 'out/leads.jsonl.gz.ledger', maxAgeDays: 0 },
    limits: {
      maxCalls: null,
      maxCredits: null,
      maxErrors: { share: 0.05 },
      limit: null,
      maxWaitMs: 900_000,
      maxOutageMs: 600_000,
      trustMisses: false,
    },
    alerts: {
      matchRateBelow: null,
      peopleMatchRateBelow: null,
      companyMatchRateBelow: null,
      deliverableBelow: null,
      rowsBelow: null,
      rowsAbove: null,
      sameInput: false,
    },
    onFinish: null,
    onTrouble: null,
  });
});

test('a compiled job is frozen at every depth', () => {
  const frozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen));
  expect(frozen(compiled({ flags: { ...LEAST, 'output.fields.A': 'enrich.title' } }))).toBe(true);
});

test.each([
  ['a.csv', 'csv', 'none'],
  ['a.TSV', 'tsv', 'none'],
  ['a.b.ndjson.zst', 'jsonl', 'zstd'],
  ['x.y/a.jsonl.gz', 'jsonl', 'gzip'],
  ['-', 'csv', 'none'],
])('the output %s is %s, %s', (output, format, compression) => {
  expect(compiled({ flags: { ...LEAST, output } }).output).toMatchObject({ uri: output, format, compression });
});

test('output.format wins over the extension, which still decides the compression', () => {
  expect(compiled({ flags: { ...LEAST, output: 'a.txt.gz', 'output.format': 'tsv' } }).output).toMatchObject({
    format: 'tsv',
    compression: 'gzip',
  });
  expect(compiled({ flags: { ...LEAST, output: '-', 'output.format': 'jsonl' } })).toMatchObject({
    output: { format: 'jsonl' },
    checkpoint: { uri: '' },
    ledger: { uri: '' },
  });
});

test.each([
  [{ name: 'given' }, { file: {} }, 'given'],
  [{}, { file: {} }, 'nightly'],
  [{}, {}, 'leads'],
  [{ output: '-' }, {}, 'stdout'],
  [{ output: 'a/b.c.csv.zst' }, {}, 'b.c'],
])('name of %j with %j: %s', (flags, given, name) => {
  expect(compiled({ ...given, flags: { ...LEAST, ...flags } }).name).toBe(name);
});

test.each([
  ['5', { count: 5 }],
  ['0', { count: 0 }],
  ['12.5%', { share: 0.125 }],
  ['100%', { share: 1 }],
])('maxErrors %s', (text, expected) => {
  expect(compiled({ flags: { ...LEAST, 'max-errors': text } }).limits.maxErrors).toEqual(expected);
});

test.each(['tab', String.raw`\t`, '\t'])('the delimiter %j is a tab', (delimiter) => {
  expect(compiled({ flags: { ...LEAST, 'input.delimiter': delimiter } }).input.delimiter).toBe('\t');
});

test('several inputs come from a repeated flag, a list, or lines of a variable', () => {
  const uris = ['a.csv', 'b,c.csv'];
  const { input: _, ...rest } = LEAST;
  expect(compiled({ flags: { ...rest, input: uris } }).input.uris).toEqual(uris);
  expect(compiled({ file: { input: { uri: uris } }, flags: rest }).input.uris).toEqual(uris);
  expect(compiled({ env: { MILLRACE_INPUT: `${uris.join('\n')}\n` }, flags: rest }).input.uris).toEqual(uris);
});

test('placeholders expand in every key that is a URI', () => {
  const job = compiled({
    date: '2026-03-01',
    env: { WHO: 'acme{date}' },
    flags: {
      ...LEAST,
      input: '{date:-1d}/{a,b}/{1..3}.csv',
      output: '{env:WHO}/{date}.csv',
      checkpoint: '{date:+365d}.json',
      ledger: '{date:-0d}.ledger',
    },
  });
  expect(job.input.uris).toEqual(['2026-02-28/{a,b}/{1..3}.csv']);
  expect(job.output.uri).toBe('acme{date}/2026-03-01.csv');
  expect([job.checkpoint.uri, job.ledger.uri]).toEqual(['2027-03-01.json', '2026-03-01.ledger']);
});

test('without --date, {date} is today', () => {
  expect(compiled({ flags: { ...LEAST, input: '{date}.csv' } }).input.uris).toEqual(['2026-03-01.csv']);
  expect(compiled({ date: '2024-03-01', flags: { ...LEAST, input: '{date:-1d}.csv' } }).input.uris).toEqual(['2024-02-29.csv']);
});

test('{date} may be that of a time zone, and --date stands for itself in every zone', () => {
  // It is 23:30 in UTC.
  const inputOf = (input: string, date?: string): readonly string[] =>
    compiled({ ...(date === undefined ? {} : { date }), flags: { ...LEAST, input } }).input.uris;
  expect(inputOf('{date}/{date:Europe/Berlin}/{date:-1d:Europe/Berlin}/{date:America/New_York}.csv')).toEqual([
    '2026-03-01/2026-03-02/2026-03-01/2026-03-01.csv',
  ]);
  expect(inputOf('{date:Europe/Berlin}/{date:+1d:Asia/Tokyo}.csv', '2024-02-28')).toEqual(['2024-02-28/2024-02-29.csv']);
  expect(refusalOf(() => inputOf('{date:Europe/Berlim}.csv')).message).toBe('--input: "{date:Europe/Berlim}" names no time zone');
});

test('the day of a job is the one that --date names to get its dated output or input again', () => {
  const dayOf = (output: string, more = {}): string | null => compiled({ flags: { ...LEAST, output, ...more } }).day;
  expect([dayOf('out.csv'), dayOf('{date}.csv'), dayOf('out.csv', { input: '{date:Europe/Berlin}.csv' })]).toEqual([
    null,
    '2026-03-01',
    '2026-03-02',
  ]);
  expect(compiled({ env: { A: 'x' }, flags: { ...LEAST, output: '{env:A}/{date:-1d:Asia/Tokyo}.csv' } })).toMatchObject({
    output: { uri: 'x/2026-03-01.csv' },
    day: '2026-03-02',
  });
});

test('a column of a step that is not configured gives a warning', () => {
  const { warnings } = compileJob(sources({ flags: { ...LEAST, steps: 'enrich', 'output.fields.V': 'verify.result' } }));
  expect(warnings).toEqual([expect.stringMatching(/"V" stays empty: the step verify/)]);
});

test('a ledger that a run to standard output keeps for no later run gives a warning', () => {
  const warningsOf = (flags: Record<string, string>): string[] =>
    compileJob(sources({ flags: { ...LEAST, output: '-', ...flags } })).warnings;
  expect(warningsOf({ ledger: 'own.ledger' })).toEqual([expect.stringContaining('ledger.maxAgeDays')]);
  expect(warningsOf({ ledger: 'own.ledger', 'ledger.maxAgeDays': '90' })).toEqual([]);
  expect(warningsOf({})).toEqual([]);
});

/** Keys that the contract lets a resume change. */
const MAY_CHANGE = ['service.plan', 'service.rpm', 'service.concurrency', 'service.timeoutMs', 'service.creditPrice', 'suppress'];

test('only keys that may change on resume leave the fingerprint unchanged; a change of another key names it', () => {
  const before = compiled({ flags: LEAST }).fingerprint;
  const free = compiled({
    flags: {
      ...LEAST,
      rpm: '5',
      concurrency: '7',
      'timeout-ms': '500',
      'max-calls': '9',
      'max-errors': '1',
      limit: '3',
      'limits.maxWaitMs': '1',
      'limits.maxOutageMs': '1',
      'limits.trustMisses': true,
      'input.ifMissing': 'succeed',
      'alerts.rowsBelow': '50%',
      'onFinish.url': 'https://hooks.example/1',
    },
  });
  expect(describeDifference(JSON.parse(JSON.stringify(before)) as Record<string, unknown>, free.fingerprint)).toBeNull();
  const others = {
    name: 'x',
    'input.delimiter': ';',
    steps: 'enrich',
    'service.fields.domain': 'site',
    'verify.when': 'unverified',
    'output.escapeFormulas': true,
    'checkpoint.everyMs': '99',
    'output.fields.A': 'enrich.a',
  };
  for (const [flag, value] of Object.entries(others)) {
    const now = compiled({ flags: { ...LEAST, [flag]: value } }).fingerprint;
    expect(describeDifference(before, now)).toMatch(new RegExp(`^${flag.replace('.A', '')} was .* and is now `));
  }
});

test('every key is in the fingerprint, may change, or is derived into another key', () => {
  const resolved = ['service.region', 'service.regions', 'service.quota', 'service.windows', 'providers'];
  // Added when checkpoints without them existed: they are there only where they are set.
  const later = { 'input.columns.country': 'Land', 'input.country': 'de', 'company.by': 'enrich.company.domain,domain' };
  expect(Object.keys(compiled({ flags: LEAST }).fingerprint).filter((path) => Object.hasOwn(later, path))).toEqual([]);
  const fingerprint = compiled({ flags: { ...LEAST, ...later, steps: 'enrich,company' } }).fingerprint;
  for (const { path } of KEYS) {
    const free =
      MAY_CHANGE.includes(path) || path.startsWith('limits.') || /^(?:alerts|onFinish|onTrouble)\./.test(path) || resolved.includes(path);
    expect([path, Object.hasOwn(fingerprint, path)]).toEqual([path, !free]);
  }
});

test('the order of output columns is part of the fingerprint', () => {
  const flags = (first: string, second: string): Record<string, string | boolean> => ({
    ...(LEAST as Record<string, string | boolean>),
    [`output.fields.${first}`]: 'enrich.a',
    [`output.fields.${second}`]: 'enrich.a',
  });
  expect(describeDifference(compiled({ flags: flags('A', 'B') }).fingerprint, compiled({ flags: flags('B', 'A') }).fingerprint)).toMatch(
    /^output\.fields was/,
  );
});

test('quota windows are a list of objects in a file, and a text in a flag or a variable', () => {
  const windows = [
    { limit: 10, periodMs: 1_000 },
    { limit: 50_000, periodMs: 86_400_000 },
  ];
  const inFile = {
    service: {
      windows: [
        { limit: 10, per: 'second' },
        { limit: 50_000, per: 'day' },
      ],
    },
  };
  expect(compiled({ flags: LEAST, file: inFile }).providers[0]?.windows).toEqual(windows);
  expect(compiled({ flags: { ...LEAST, 'service.windows': '10/second, 50000/day' } }).providers[0]?.windows).toEqual(windows);
  expect(compiled({ flags: LEAST, env: { MILLRACE_SERVICE_WINDOWS: '10/second,50000/day' } }).providers[0]?.windows).toEqual(windows);
});

test.each(['10/week', '0/day', '10', '10/day,20/day', '1e3/hour'])('the quota windows %j are refused', (text) => {
  expect(() => compiled({ flags: { ...LEAST, 'service.windows': text } })).toThrow(
    /--service\.windows must be a list of windows such as \{limit: 50000, per: day\}/,
  );
});

test('a dated output has its names of the days before, the latest first, so that the last run is found', () => {
  const { earlier } = compiled({ flags: { ...LEAST, output: 'out/{date}/leads-{date:-1d}.csv' }, date: '2026-03-02' }).output;
  expect(earlier).toHaveLength(31);
  expect([earlier[0], earlier[2], earlier.at(-1)]).toEqual([
    'out/2026-03-01/leads-2026-02-28.csv',
    'out/2026-02-27/leads-2026-02-26.csv',
    'out/2026-01-30/leads-2026-01-29.csv',
  ]);
});
