import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { RecordResult } from '../../src/processor/result.ts';
import { emailsIn, GAVE_UP, MISS, person, record, SUPPRESSED, verdicts } from '../lookup/bench.ts';
import { ADA, BOTH, FOUND, makeProcessor, through } from './one-record.ts';

describe('the address to verify', () => {
  it.each([
    ['its own, before the one found', record('Ada@Example.com'), person(FOUND), ['Ada@example.com']],
    ['the one found, without its own', record(' ', 'example.com'), person({ ...FOUND, email: 'Found@Example.com' }), ['Found@example.com']],
    ['its own bad one, though a domain was looked up', record('Ada@home', 'example.com'), person(FOUND), ['ada@home']],
    [
      'the one found, where its own cell is no address',
      record('N/A', 'example.com'),
      person({ ...FOUND, email: 'f@b.example' }),
      ['f@b.example'],
    ],
    ['its own, though nobody was found', record('ada@example.com'), MISS, ['ada@example.com']],
    ['none, where neither has one', record('', 'example.com'), MISS, []],
    ['none, where an empty one was found', record('', 'example.com'), person({ name: 'Ada', email: '' }), []],
    ['none, where the one found is no text', record('', 'example.com'), person({ name: 'Ada', email: 7 }), []],
  ] as const)('resolves to %s', (_, input, enriched, expected) => {
    const { asked, result } = through(BOTH, input, enriched, expected.length > 0 ? 'verdict' : null);
    expect(asked).toEqual(expected);
    expect(result.answers['verify']?.record['result'] ?? null).toBe(expected.length > 0 ? 'risky' : null);
  });

  it.each([
    ['verified', { ...FOUND, verified: true }, []],
    ['not verified', { ...FOUND, verified: false }, ['ada@example.com']],
    ['silent about it', { name: 'Ada' }, ['ada@example.com']],
    ['vague about it', { name: 'Ada', verified: 'true' }, ['ada@example.com']],
  ] as const)('under "when: unverified" depends on the record that is %s', (_, fields, expected) => {
    const { asked, result } = through(BOTH, ADA, person(fields), expected.length > 0 ? 'verdict' : null, 'unverified');
    expect(asked).toEqual(expected);
    expect(result.outcome).toBe('matched');
  });

  it('stays its own under "when: unverified" when enrich finds nobody', () => {
    expect(through(BOTH, ADA, MISS, 'verdict', 'unverified').asked).toEqual(['ada@example.com']);
  });
});

describe('the order of verify requests', () => {
  const input = fc.array(
    fc.record({
      who: fc.nat(25),
      kind: fc.constantFrom('email', 'email', 'email', 'domain', 'bad', 'unreadable'),
      said: fc.constantFrom('hit', 'hit', 'miss', 'suppressed', 'failed'),
    }),
    { minLength: 1, maxLength: 80 },
  );

  it('does not depend on the order of enrich answers, and every record ends once', () => {
    fc.assert(
      fc.property(input, fc.constantFrom('always', 'unverified'), fc.infiniteStream(fc.nat()), (rows, when, chance) => {
        const run = (pick: (waiting: number) => number): { bodies: string[]; results: (RecordResult | undefined)[] } => {
          const { bench, processor, verify } = makeProcessor(BOTH, when, 7);
          const results: RecordResult[] = [];
          rows.forEach(({ who, kind }, number) => {
            const input =
              kind === 'email'
                ? record(`p${who}@example.com`)
                : kind === 'domain'
                  ? record('', `d${who}.example`)
                  : kind === 'bad'
                    ? record('nobody')
                    : record('x', '', 'unreadable');
            processor.process(input, number, {
              done: (result) => {
                expect(results[number]).toBeUndefined();
                results[number] = result;
              },
              retained: () => undefined,
            });
          });
          for (;;) {
            const waiting = bench.asked.filter(({ step }) => step === 'enrich');
            const call = waiting[pick(waiting.length)];
            if (call === undefined) break;
            bench.asked.splice(bench.asked.indexOf(call), 1);
            const who = /\d+/.exec(call.body)?.[0] ?? '';
            // The first row of a person says what the service knows of them.
            const said = rows.find((row) => String(row.who) === who)?.said;
            call.settle(
              said === 'hit'
                ? person({ name: who, email: `f${who}@example.com`, verified: Number(who) % 3 === 0 })
                : said === 'miss'
                  ? MISS
                  : said === 'suppressed'
                    ? SUPPRESSED
                    : GAVE_UP,
            );
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
