import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { WRITTEN_INPUT } from '../../../src/definition/compile-job.ts';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { changedDefinition } from '../../../src/job/lifecycle/changed-definition.ts';

describe('changedDefinition', () => {
  const job = (fingerprint: Record<string, unknown>, limit: number | null = null) => ({
    fingerprint,
    limits: { limit } as CompiledJob['limits'],
  });
  const found = (
    fingerprint: Record<string, unknown>,
    state: 'running' | 'stopped' | 'finishing' | 'finished' = 'stopped',
    limit: number | null = null,
  ) => ({ fingerprint, state, limit, retry: null, answered: true, totals: { credits: 0, lookups: { unique: 0 } } });
  const DATED = { 'input.uri': ['in-1.csv'], [WRITTEN_INPUT]: ['in-{date}.csv'], steps: ['enrich'] };

  it('accepts an equal definition, and names the key of a difference', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
        fc.string({ minLength: 1 }),
        (fingerprint, key) => {
          expect(changedDefinition(job(fingerprint), found(JSON.parse(JSON.stringify(fingerprint)) as Record<string, unknown>))).toBeNull();
          if (key === '__proto__' || key === WRITTEN_INPUT) return;
          expect(changedDefinition(job({ ...fingerprint, [key]: 'new' }), found({ ...fingerprint, [key]: 'old' }))).toBe(
            `${key} was "old" and is now "new"`,
          );
        },
      ),
    );
  });

  it('accepts a limit that is raised or dropped, and refuses one that is lowered or set', () => {
    const limit = fc.option(fc.integer({ min: 1, max: 1_000 }));
    fc.assert(
      fc.property(limit, limit, (before, now) => {
        const sentence = changedDefinition(job({}, now), found({}, 'stopped', before));
        if ((now ?? Infinity) >= (before ?? Infinity)) expect(sentence).toBeNull();
        else expect(sentence).toBe(`limits.limit was ${before ?? 'not set'} and is now ${now}; it can only be raised`);
      }),
    );
  });

  it('accepts another service address until the job has an answer, and no other change', () => {
    const typed = {
      'service.baseUrl': 'https://api.exmaple.com',
      'service.embedded': false,
      'service.fields.domain': 'domain',
      steps: ['enrich'],
    };
    const none = { answered: false, totals: { credits: 0, lookups: { unique: 0 } } };
    for (const change of [
      { 'service.baseUrl': 'https://api.example.com' },
      { 'service.baseUrl': null, 'service.embedded': true },
      { 'service.fields.domain': 'website' },
    ]) {
      const now = job({ ...typed, ...change });
      for (const state of ['running', 'stopped', 'finished'] as const)
        expect(changedDefinition(now, { ...found(typed, state), ...none })).toBeNull();
      for (const hasAnswer of [
        { ...none, answered: true },
        { ...none, totals: { ...none.totals, credits: 1 } },
        { ...none, totals: { ...none.totals, lookups: { unique: 1 } } },
      ]) {
        expect(changedDefinition(now, { ...found(typed), ...hasAnswer })).toContain(Object.keys(change)[0]);
      }
    }
    expect(changedDefinition(job({ ...typed, steps: ['verify'] }), { ...found(typed), ...none })).toContain('steps was');
  });

  it('refuses another {date} in the input while the job runs, and accepts it once the job is finished', () => {
    const tomorrow = { ...DATED, 'input.uri': ['in-2.csv'] };
    for (const state of ['running', 'stopped'] as const)
      expect(changedDefinition(job(tomorrow), found(DATED, state))).toContain('input.uri was ["in-1.csv"]');
    for (const state of ['finishing', 'finished'] as const) {
      expect(changedDefinition(job(tomorrow), found(DATED, state))).toBeNull();
      expect(changedDefinition(job({ ...tomorrow, [WRITTEN_INPUT]: ['in-2.csv'] }), found(DATED, state))).toContain('input.uri was');
      expect(changedDefinition(job({ ...tomorrow, steps: ['verify'] }), found(DATED, state))).toContain('steps was');
    }
  });
});
