import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keysFor } from '../../src/processor/keys.ts';
import { openSteps } from '../../src/processor/open-steps.ts';
import { RecordProcessor } from '../../src/processor/process-record.ts';
import { NO_ANSWERS, type RecordResult } from '../../src/processor/result.ts';
import { VerifyStep } from '../../src/processor/verify.ts';
import type { Settled } from '../../src/pool/call-pool.ts';
import { STEPS, type Step } from '../../src/job/steps.ts';
import { emailsIn, GAVE_UP, job, makeBench, MISS, person, record, REFUSED, SUPPRESSED, verdicts, type Bench } from './bench.ts';

interface Line { readonly bench: Bench; readonly processor: RecordProcessor; readonly verify: VerifyStep | null }

const SCOPES = { email: 1, domain: 2, verify: 3, company: 4, reveal: 5 };
const isFree = (domain: string): boolean => domain === 'free.example';

function make(steps: readonly Step[], when: 'always' | 'unverified' = 'always', batch?: number): Line {
  const bench = makeBench();
  const open = openSteps(job(steps, when), bench.context, SCOPES);
  const verify = open.verify === null || batch === undefined ? open.verify : new VerifyStep(bench.context, SCOPES.verify, { patienceMs: 0, batch });
  return { bench, verify, processor: new RecordProcessor(job(steps, when), { ...open, verify }, keysFor(steps, isFree)) };
}

const FOUND = { email: 'found@example.com', name: 'Ada', verified: false };

type VerifySaid = Settled<unknown> | 'verdict';

/** One record through the steps; what became of it, and which addresses were verified. */
function through(steps: readonly Step[], input: ReturnType<typeof record>, enriched: Settled<unknown> | null, verified: VerifySaid | null, when: 'always' | 'unverified' = 'always'): { result: RecordResult; asked: string[] } {
  const { bench, processor, verify } = make(steps, when);
  const results: RecordResult[] = [];
  const held: number[] = [];
  processor.process(input, 0, (result) => results.push(result), (bytes) => held.push(bytes));
  if (enriched !== null) bench.next('enrich').settle(enriched);
  verify?.flush();
  if (verified !== null) {
    const call = bench.next('verify');
    call.settle(verified === 'verdict' ? verdicts(emailsIn(call.body), () => 'risky') : verified);
  }
  expect(bench.asked).toEqual([]);
  expect(results).toHaveLength(1);
  // What is held of an answer is told while others are waited for, once.
  expect(held).toHaveLength(enriched?.kind === 'ok' ? 1 : 0);
  return { result: results[0] as RecordResult, asked: bench.bodies.verify.flatMap(emailsIn) };
}

const BOTH = ['enrich', 'verify'] as const;
const ADA = record('ada@example.com', 'example.com');

describe('what becomes of a record', () => {
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
  ] as const)('%s', (_, steps, enriched, verified, outcome, error, hasEnrich, verdict) => {
    const { result } = through(steps, ADA, enriched, verified);
    expect([result.outcome, result.error, result.enrich !== null, result.verify?.record.result ?? null]).toEqual([outcome, error, hasEnrich, verdict]);
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
  ] as const)('%j of %j is invalid and costs no call', (steps, input, code) => {
    const { result, asked } = through(steps, input, null, null);
    expect(result).toEqual({ outcome: 'invalid', error: code, ...NO_ANSWERS, failure: { step: null, key: null, code, attempts: 0, requestId: null } });
    expect(asked).toEqual([]);
  });
});

/** One record through the steps, each answered with what it is told to say; a company's and a contact's record stand for their step. */
function follow(steps: readonly Step[], input: ReturnType<typeof record>, says: Partial<Record<Step, Settled<unknown>>> = {}): { result: RecordResult; asked: Step[] } {
  const { bench, processor, verify } = make(steps);
  const results: RecordResult[] = [];
  const asked: Step[] = [];
  processor.process(input, 0, (result) => results.push(result), () => undefined);
  for (verify?.flush(); bench.asked.length > 0; verify?.flush()) {
    const call = bench.next();
    asked.push(call.step);
    call.settle(says[call.step] ?? (call.step === 'verify' ? verdicts(emailsIn(call.body)) : person({ name: call.step })));
  }
  expect(results).toHaveLength(1);
  return { result: results[0] as RecordResult, asked };
}

describe('all four steps', () => {
    const ALL = STEPS;
  const FULL = record('ada@example.com', 'example.com', null, 'linkedin.com/in/ada');
  const said = ({ outcome, error, ...answers }: RecordResult): unknown[] => [outcome, error, ALL.filter((step) => answers[step] !== null)];

  it.each([
    ['all found', ALL, {}, ALL, ['matched', null, ALL]],
    ['enrich decides', ALL, { enrich: MISS }, ALL, ['no_match', null, ['verify', 'company', 'reveal']]],
    ['company and reveal do not, after enrich', ALL, { company: MISS, reveal: MISS }, ALL, ['matched', null, ['enrich', 'verify']]],
    ['reveal decides before company', ['verify', 'company', 'reveal'], { reveal: MISS }, ['verify', 'company', 'reveal'], ['no_match', null, ['verify', 'company']]],
    ['reveal decides before company', ['company', 'reveal'], { company: MISS }, ['company', 'reveal'], ['matched', null, ['reveal']]],
    ['company decides', ['verify', 'company'], { company: MISS }, ['verify', 'company'], ['no_match', null, ['verify']]],
    ['a later step fails: what came before stays, and nothing is asked after it', ALL, { company: GAVE_UP }, ['enrich', 'verify', 'company'], ['failed', 'company:http_500', ['enrich', 'verify']]],
    ['the last step fails', ALL, { reveal: REFUSED }, ALL, ['failed', 'reveal:validation_failed', ['enrich', 'verify', 'company']]],
    ['the first step of a job fails: its code alone', ['company', 'reveal'], { company: REFUSED }, ['company'], ['failed', 'validation_failed', []]],
    ['removed, says company', ALL, { company: SUPPRESSED }, ['enrich', 'verify', 'company'], ['suppressed', null, []]],
    ['removed, says reveal', ALL, { reveal: SUPPRESSED }, ALL, ['suppressed', null, []]],
    ['removed, says verify', ALL, { verify: SUPPRESSED }, ['enrich', 'verify'], ['suppressed', null, []]],
  ] as const)('%s', (_, steps, says, asked, expected) => {
    const found = follow(steps, FULL, says);
    expect(found.asked).toEqual(asked);
    expect(said(found.result)).toEqual(expected);
  });

  it.each([
    ['company by its domain', record('ada@free.example', 'https://www.Example.com/x'), 'company', ['example.com']],
    ["company by the address's", record('Ada@Example.com'), 'company', ['example.com']],
    ['nobody where the address is a free one', record('ada@free.example'), 'company', []],
    ['reveal by the profile', record('', '', null, 'http://de.LinkedIn.com/in/Ada/?trk=x'), 'reveal', ['{"linkedin_url":"https://www.linkedin.com/in/ada"}']],
  ] as const)('asks %s', (_, input, step, bodies) => {
    const { bench, processor } = make([step]);
    processor.process(input, 0, () => undefined, () => undefined);
    expect(bench.bodies[step]).toEqual(bodies);
  });

  it.each([
    ['reveal, where enrich has no key', ['enrich', 'reveal'], record('', '', null, 'linkedin.com/in/ada'), ['reveal'], 'matched'],
    ['company, where reveal has none', ['company', 'reveal'], record('', 'example.com'), ['company'], 'matched'],
    ['verify, where company has none', ['verify', 'company'], record('ada@free.example'), ['verify'], 'matched'],
  ] as const)('the outcome is decided by %s', (_, steps, input, asked, outcome) => {
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
  ] as const)('%j of %j is invalid and costs no call', (steps, input, code) => {
    const { result, asked } = follow(steps, input);
    expect([result.outcome, result.error, asked]).toEqual(['invalid', code, []]);
  });
});

describe('which address is verified', () => {
  it.each([
    ['its own, before the one found', record('Ada@Example.com'), person(FOUND), ['Ada@example.com']],
    ['the one found, without its own', record(' ', 'example.com'), person({ ...FOUND, email: 'Found@Example.com' }), ['Found@example.com']],
    ['its own bad one, though a domain was looked up', record('ada at home', 'example.com'), person(FOUND), ['ada at home']],
    ['its own, though nobody was found', record('ada@example.com'), MISS, ['ada@example.com']],
    ['none, where neither has one', record('', 'example.com'), MISS, []],
    ['none, where an empty one was found', record('', 'example.com'), person({ name: 'Ada', email: '' }), []],
    ['none, where the one found is no text', record('', 'example.com'), person({ name: 'Ada', email: 7 }), []],
  ] as const)('%s', (_, input, enriched, expected) => {
    const { asked, result } = through(BOTH, input, enriched, expected.length > 0 ? 'verdict' : null);
    expect(asked).toEqual(expected);
    expect(result.verify?.record.result ?? null).toBe(expected.length > 0 ? 'risky' : null);
  });

  it.each([
    ['verified', { ...FOUND, verified: true }, []],
    ['not verified', { ...FOUND, verified: false }, ['ada@example.com']],
    ['silent about it', { name: 'Ada' }, ['ada@example.com']],
    ['vague about it', { name: 'Ada', verified: 'true' }, ['ada@example.com']],
  ] as const)('when: unverified, a record that is %s', (_, fields, expected) => {
    const { asked, result } = through(BOTH, ADA, person(fields), expected.length > 0 ? 'verdict' : null, 'unverified');
    expect(asked).toEqual(expected);
    expect(result.outcome).toBe('matched');
  });

  it('when: unverified, nobody found is not verified', () => {
    expect(through(BOTH, ADA, MISS, 'verdict', 'unverified').asked).toEqual(['ada@example.com']);
  });
});

describe('the order of verify requests', () => {
  const input = fc.array(
    fc.record({ who: fc.nat(25), kind: fc.constantFrom('email', 'email', 'email', 'domain', 'bad', 'unreadable'), said: fc.constantFrom('hit', 'hit', 'miss', 'suppressed', 'failed') }),
    { minLength: 1, maxLength: 80 },
  );

  it('is the same in whatever order enrich is answered, and every record ends once', () => {
    fc.assert(
      fc.property(input, fc.constantFrom('always', 'unverified'), fc.infiniteStream(fc.nat()), (rows, when, chance) => {
        const run = (pick: (waiting: number) => number): { bodies: string[]; results: (RecordResult | undefined)[] } => {
          const { bench, processor, verify } = make(BOTH, when, 7);
          const results: RecordResult[] = [];
          rows.forEach(({ who, kind }, number) => {
            const input = kind === 'email' ? record(`p${who}@example.com`) : kind === 'domain' ? record('', `d${who}.example`) : kind === 'bad' ? record('nobody') : record('x', '', 'unreadable');
            processor.process(input, number, (result) => {
              expect(results[number]).toBeUndefined();
              results[number] = result;
            }, () => undefined);
          });
          for (;;) {
            const waiting = bench.asked.filter(({ step }) => step === 'enrich');
            const call = waiting[pick(waiting.length)];
            if (call === undefined) break;
            bench.asked.splice(bench.asked.indexOf(call), 1);
            const who = /\d+/.exec(call.body)?.[0] ?? '';
            // The first row of a person says what the service knows of them.
            const said = rows.find((row) => String(row.who) === who)?.said;
            call.settle(said === 'hit' ? person({ name: who, email: `f${who}@example.com`, verified: Number(who) % 3 === 0 }) : said === 'miss' ? MISS : said === 'suppressed' ? SUPPRESSED : GAVE_UP);
          }
          verify?.flush();
          while (bench.asked.length > 0) {
            const call = bench.next('verify');
            call.settle(verdicts(emailsIn(call.body)));
          }
          return { bodies: bench.bodies.verify, results };
        };
        const inOrder = run(() => 0);
        const shuffled = run((waiting) => (waiting === 0 ? 0 : (chance.next().value as number) % waiting));
        expect(shuffled.bodies).toEqual(inOrder.bodies);
        expect(shuffled.results).toEqual(inOrder.results);
        expect(shuffled.results.filter((result) => result !== undefined)).toHaveLength(rows.length);
        for (const body of inOrder.bodies.slice(0, -1)) expect(emailsIn(body)).toHaveLength(7);
      }),
    );
  });
});
