import { expect, test } from 'vitest';
import { firstGeneration, idempotencyKey, keySeed } from '../../../src/job/lifecycle/idempotency-keys.ts';

const BODY = '{"email":"ana@works.example"}';

test('two steps that send the same body have keys of their own', () => {
  const seed = keySeed({ job: 'leads', generation: firstGeneration(new Date('2026-03-01T00:00:00Z')) });
  const keys = (['enrich', 'reveal', 'company', 'verify'] as const).map((step) => idempotencyKey(seed, step, BODY));
  expect(new Set(keys.filter((_, place) => place < 3)).size).toBe(3);
});

test('a job that an earlier version has begun keeps its keys', () => {
  const seed = keySeed({ job: 'leads', generation: 2 });
  expect(idempotencyKey(seed, 'reveal', BODY)).toBe(idempotencyKey(seed, 'enrich', BODY));
});

test('another job of the same name, and the same job on another day, have keys of their own', () => {
  const keyAt = (now: string): string =>
    idempotencyKey(keySeed({ job: 'leads', generation: firstGeneration(new Date(now)) }), 'enrich', BODY);
  expect(keyAt('2026-03-01T00:00:00Z')).not.toBe(keyAt('2026-03-02T00:00:00Z'));
});
