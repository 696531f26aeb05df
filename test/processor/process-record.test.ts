import { describe, expect, it } from 'vitest';
import type { RecordResult } from '../../src/processor/result.ts';
import { GAVE_UP, MISS, person, record, REFUSED, SUPPRESSED } from '../lookup/bench.ts';
import { ADA, BOTH, follow, FOUND, makeProcessor, through } from './one-record.ts';
import type { CompiledJob } from '../../src/definition/compiled-job.ts';
import { keysFor } from '../../src/processor/lookup-keys.ts';
import type { OpenStep } from '../../src/processor/open-steps.ts';
import { RecordProcessor } from '../../src/processor/process-record.ts';
import { STEPS } from '../../src/steps/registry.ts';

describe('a record', () => {
  it.each([
    ['enrich: hit', ['enrich'], person(FOUND), null, 'matched', null, true, null],
    ['enrich: miss', ['enrich'], MISS, null, 'no_match', null, false, null],
    ['enrich: suppressed', ['enrich'], SUPPRESSED, null, 'suppressed', null, false, null],
    ['enrich: refused', ['enrich'], REFUSED, null, 'failed', 'validation_failed', false, null],
    ['enrich: gave up', ['enrich'], GAVE_UP, null, 'failed', 'http_500', false, null],
    ['hit, verdict', BOTH, person(FOUND), 'verdict', 'matched', null, true, 'risky'],
    ['hit, verify refused', BOTH, person(FOUND), REFUSED, 'failed', 'verify:validation_failed', true, null],
    ['hit, verify gave up', BOTH, person(FOUND), GAVE_UP, 'failed', 'verify:http_500', true, null],
    ['hit, verify suppressed', BOTH, person(FOUND), SUPPRESSED, 'suppressed', null, false, null],
    ['miss, verdict', BOTH, MISS, 'verdict', 'no_match', null, false, 'risky'],
    ['miss, verify gave up', BOTH, MISS, GAVE_UP, 'failed', 'verify:http_500', false, null],
    ['suppressed: no verify', BOTH, SUPPRESSED, null, 'suppressed', null, false, null],
    ['failed: no verify', BOTH, GAVE_UP, null, 'failed', 'http_500', false, null],
    ['verify alone: verdict', ['verify'], null, 'verdict', 'matched', null, false, 'risky'],
    ['verify alone: refused', ['verify'], null, REFUSED, 'failed', 'validation_failed', false, null],
    ['verify alone: suppressed', ['verify'], null, SUPPRESSED, 'suppressed', null, false, null],
  ] as const)('ends as its answers decide: %s', (_, steps, enriched, verified, outcome, error, hasEnrich, verdict) => {
    const { result } = through(steps, ADA, enriched, verified);
    expect([
      result.outcome,
      result.error,
      result.answers['enrich'] !== undefined,
      result.answers['verify']?.record['result'] ?? null,
    ]).toEqual([outcome, error, hasEnrich, verdict]);
    if (outcome === 'failed') {
      const step = steps.includes('enrich' as never) && !(error ?? '').startsWith('verify:') ? 'enrich' : 'verify';
      expect(result.failure).toMatchObject({ step, key: 'ada@example.com', code: (error ?? '').replace('verify:', '') });
    } else {
      expect(result.failure).toBeNull();
    }
  });

  it.each([
    [BOTH, record('', ''), 'no_key'],
    [BOTH, record('not an address', ''), 'bad_email'],
    [BOTH, record('ada@example.com', '', 'a quote is never closed'), 'bad_row'],
    [['enrich'], record(' ', 'localhost'), 'no_key'],
    [['verify'], record('', 'example.com'), 'no_key'],
    [['verify'], record('x'.repeat(2_000), ''), 'bad_email'],
    ...['N/A', '-', 'none', 'TBD', '#N/A', 'Ann Example', 'www.x.com', '@acme', ' @', '@@', '\uff20acme'].map(
      (cell) => [['verify'], record(cell, ''), 'bad_email'] as const,
    ),
  ] as const)('with the steps %j and the input %j is invalid, and costs no call', (steps, input, code) => {
    const { result, asked } = through(steps, input, null, null);
    expect(result).toEqual({
      outcome: 'invalid',
      error: code,
      answers: {},
      failure: { step: null, key: null, code, attempts: 0, requestId: null },
    });
    expect(asked).toEqual([]);
  });
});

describe('the kind of a record', () => {
  const kindOf = (result: RecordResult): string => (result.isCompany === true ? 'company' : 'person');

  it('follows from the key that decides: by its domain it is a company, found or not', () => {
    const domain = record('', 'example.com');
    for (const answer of [person(FOUND), MISS]) {
      expect(kindOf(follow(['enrich'], domain, { enrich: answer }).result)).toBe('company');
      expect(kindOf(follow(['enrich'], ADA, { enrich: answer }).result)).toBe('person');
    }
    expect(kindOf(follow(['company'], ADA).result)).toBe('company');
    expect(kindOf(follow(['verify'], ADA).result)).toBe('person');
    // The company of a person, beside the person.
    expect(kindOf(follow(['enrich', 'company'], ADA).result)).toBe('person');
  });

  it.each([
    ['hit', 'hit', 'person'],
    ['miss', 'hit', 'company'],
    ['hit', 'miss', 'person'],
    ['miss', 'miss', 'person'],
  ] as const)('the kind is that of the key by which it was found first: by address %s, then by domain %s', (first, second, kind) => {
    const answers = [first, second].map((said) =>
      said === 'hit' ? { kind: 'hit', answer: { record: { name: 'x' }, text: '{}' } } : { kind: 'miss' },
    );
    const at = answers.map((answer) => ({
      ask: (_lookup: unknown, done: (outcome: unknown) => void) => done(answer),
    })) as unknown as OpenStep[];
    const waterfall = { from: ['a', 'b'], keys: [['email'], ['domain']], until: ['title'], fields: 'merge' } as const;
    const job = { steps: ['enrich'], waterfalls: { enrich: waterfall }, namesProviders: true, options: {} } as unknown as CompiledJob;
    const keysOf = keysFor(['enrich'], () => false, { enrich: waterfall.keys });
    const results: RecordResult[] = [];
    new RecordProcessor(job, { at: { enrich: at }, watched: [] }, keysOf).process(ADA, 0, {
      done: (result) => results.push(result),
      retained: () => undefined,
    });
    expect(results.map(kindOf)).toEqual([kind]);
  });
});

describe('verify alone', () => {
  it.each(['ada@', 'ada@home', 'a b@acme.com', 'Ada <ada@acme>', 'ada\uff20home', '@ada@acme'])(
    'asks about %j, which has a local part and an @',
    (cell) => {
      const { result, asked } = through(['verify'], record(cell, ''), null, 'verdict');
      expect(asked).toHaveLength(1);
      expect(result.outcome).toBe('matched');
    },
  );
});

describe('a record with all four steps', () => {
  const ALL = STEPS;
  const FULL = record('ada@example.com', 'example.com', null, 'linkedin.com/in/ada');
  const said = ({ outcome, error, answers }: RecordResult): unknown[] => [
    outcome,
    error,
    ALL.filter((step) => answers[step] !== undefined),
  ];

  it.each([
    ['all found', ALL, {}, ALL, ['matched', null, ALL]],
    ['enrich decides', ALL, { enrich: MISS }, ALL, ['no_match', null, ['verify', 'company', 'reveal']]],
    ['company and reveal do not, after enrich', ALL, { company: MISS, reveal: MISS }, ALL, ['matched', null, ['enrich', 'verify']]],
    [
      'reveal decides before company',
      ['verify', 'company', 'reveal'],
      { reveal: MISS },
      ['verify', 'company', 'reveal'],
      ['no_match', null, ['verify', 'company']],
    ],
    ['reveal decides before company', ['company', 'reveal'], { company: MISS }, ['company', 'reveal'], ['matched', null, ['reveal']]],
    ['company decides', ['verify', 'company'], { company: MISS }, ['verify', 'company'], ['no_match', null, ['verify']]],
    [
      'a later step fails: what came before stays, and nothing is asked after it',
      ALL,
      { company: GAVE_UP },
      ['enrich', 'verify', 'company'],
      ['failed', 'company:http_500', ['enrich', 'verify']],
    ],
    ['the last step fails', ALL, { reveal: REFUSED }, ALL, ['failed', 'reveal:validation_failed', ['enrich', 'verify', 'company']]],
    [
      'the first step of a job fails: its code alone',
      ['company', 'reveal'],
      { company: REFUSED },
      ['company'],
      ['failed', 'validation_failed', []],
    ],
    ['removed, says company', ALL, { company: SUPPRESSED }, ['enrich', 'verify', 'company'], ['suppressed', null, []]],
    ['removed, says reveal', ALL, { reveal: SUPPRESSED }, ALL, ['suppressed', null, []]],
    ['removed, says verify', ALL, { verify: SUPPRESSED }, ['enrich', 'verify'], ['suppressed', null, []]],
  ] as const)('ends as its last answers decide: %s', (_, steps, says, asked, expected) => {
    const found = follow(steps, FULL, says);
    expect(found.asked).toEqual(asked);
    expect(said(found.result)).toEqual(expected);
  });

  it.each([
    ['company by its domain', record('ada@free.example', 'https://www.Example.com/x'), 'company', ['example.com']],
    ["company by the address's", record('Ada@Example.com'), 'company', ['example.com']],
    ['nobody where the address is a free one', record('ada@free.example'), 'company', []],
    [
      'reveal by the profile',
      record('', '', null, 'http://de.LinkedIn.com/in/Ada/?trk=x'),
      'reveal',
      ['{"linkedin_url":"https://www.linkedin.com/in/ada"}'],
    ],
  ] as const)('asks for %s', (_, input, step, bodies) => {
    const { bench, processor } = makeProcessor([step]);
    processor.process(input, 0, { done: () => undefined, retained: () => undefined });
    expect(bench.bodies[step]).toEqual(bodies);
  });

  it.each([
    ['reveal, where enrich has no key', ['enrich', 'reveal'], record('', '', null, 'linkedin.com/in/ada'), ['reveal'], 'matched'],
    ['company, where reveal has none', ['company', 'reveal'], record('', 'example.com'), ['company'], 'matched'],
    ['verify, where company has none', ['verify', 'company'], record('ada@free.example'), ['verify'], 'matched'],
  ] as const)('takes its outcome from %s', (_, steps, input, asked, outcome) => {
    const found = follow(steps, input);
    expect(found.asked).toEqual(asked);
    expect(found.result.outcome).toBe(outcome);
    const [step = 'reveal'] = asked;
    if (step !== 'verify') expect(follow(steps, input, { [step]: MISS }).result.outcome).toBe('no_match');
  });

  it.each([
    [['company'], record('', ''), 'no_key'],
    [['company'], record('ada@free.example', 'localhost'), 'no_key'],
    [['company'], record('ada at home', ''), 'bad_email'],
    [['reveal'], record('ada@example.com', 'example.com', null, ''), 'no_key'],
    [['reveal'], record('ada@example.com', 'example.com', null, 'n/a'), 'bad_profile_url'],
    [['reveal'], record('', '', null, 'https://www.acme.example/in/ada'), 'bad_profile_url'],
    [['company', 'reveal'], record('', '\u200b', null, 'https://www.linkedin.com/company/acme'), 'bad_profile_url'],
    [['enrich', 'reveal'], record('\u200b', '', null, 'lnkd.in/ada'), 'bad_profile_url'],
    [['enrich'], record('\u200b', ' \u00a0'), 'no_key'],
    [['enrich', 'verify', 'reveal'], record('ada at home', '', null, ''), 'bad_email'],
  ] as const)('with the steps %j and the input %j is invalid, and costs no call', (steps, input, code) => {
    const { result, asked } = follow(steps, input);
    expect([result.outcome, result.error, asked]).toEqual(['invalid', code, []]);
  });
});
