import * as fc from '../support/fast-check.ts';
import { expect, test } from 'vitest';
import { exposition, histogram, type Family } from '../../src/telemetry/prometheus-text.ts';
import { Durations, LATENCY_BOUNDS_S } from '../../src/telemetry/duration-histogram.ts';
import { parseExposition } from './parse-exposition.ts';

test('whatever a label or a help says, the text is well-formed and each sample is there', () => {
  const families = fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('a_total', 'b_total', 'c_total'),
      help: fc.string({ minLength: 1 }).map((help) => `x${help}`),
      values: fc.uniqueArray(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 5 }),
    }),
    { selector: ({ name }) => name },
  );
  fc.assert(
    fc.property(families, fc.double({ noNaN: true, noDefaultInfinity: true }), (some, value) => {
      const made = some.map(({ name, help, values }): Family => ({
        name,
        help,
        type: 'counter',
        samples: values.map((label) => ({ labels: { label }, value })),
      }));
      fc.pre(made.length > 0);
      const parsed = parseExposition(exposition(made));
      for (const { name, samples } of made) {
        expect([...(parsed.get(name)?.samples.values() ?? [])].map((read) => read + 0)).toEqual(samples.map(() => value + 0));
      }
    }),
    { numRuns: 30 },
  );
});

test('an unknown value is left out', () => {
  expect(exposition([{ name: 'a', type: 'gauge', help: 'a', samples: [] }])).toBe('');
});

test('a histogram counts each duration in its bucket and all above', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 100, noNaN: true })), (seconds) => {
      const durations = new Durations();
      for (const one of seconds) durations.add(one);
      const samples = histogram({ step: 'enrich' }, LATENCY_BOUNDS_S, durations.counts, durations.sumS);
      parseExposition(exposition([{ name: 'd_seconds', type: 'histogram', help: 'd', samples }]));
      for (const [i, bound] of [...LATENCY_BOUNDS_S, Infinity].entries()) {
        expect(samples[i]).toEqual({
          suffix: '_bucket',
          labels: { step: 'enrich', le: bound === Infinity ? '+Inf' : String(bound) },
          value: seconds.filter((one) => one <= bound).length,
        });
      }
      expect(samples.at(-1)?.value).toBe(seconds.length);
    }),
  );
});
