import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { FairQueue } from '../../../src/service/webhooks/fair-queue.ts';
import type { Destination } from '../../../src/service/webhooks/concurrency.ts';

/** Rows of a store with one due delivery for each destination. */
function rowsOf(destinations: readonly Destination[]): ConstructorParameters<typeof FairQueue>[0] {
  const sorted = (names: readonly string[]): string[] => [...new Set(names)].toSorted();
  const keys = sorted(destinations.map(({ keyId }) => keyId));
  const hostsOf = new Map(
    [...Map.groupBy(destinations, ({ keyId }) => keyId)].map(([keyId, found]) => [keyId, sorted(found.map(({ host }) => host))]),
  );
  const next = (names: readonly string[], after: string) => {
    const position = names.find((one) => one > after);
    return position === undefined ? null : { position, nextMs: 0 };
  };
  return { keyAfter: (keyId) => next(keys, keyId), hostAfter: (keyId, host) => next(hostsOf.get(keyId) ?? [], host) };
}

const hosts = (keyId: string, count: number): Destination[] =>
  Array.from({ length: count }, (_, n) => ({ keyId, host: `h${String(n).padStart(4, '0')}` }));

it('every destination of a key has a turn before any has a second one, wherever a round ends', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.record({ keyId: fc.constantFrom('a', 'b', 'c', 'd'), host: fc.constantFrom('w', 'x', 'y', 'z') }), {
        selector: ({ keyId, host }) => `${keyId} ${host}`,
        minLength: 1,
      }),
      fc.infiniteStream(fc.integer({ min: 1, max: 5 })),
      (all, lengths) => {
        const queue = new FairQueue(rowsOf(all));
        const seen = new Map<string, string[]>();
        for (let turns = 0; turns < 60;) {
          let left = lengths.next().value as number;
          for (const { keyId, host } of queue.roundRobin(0, () => false)) {
            seen.set(keyId, [...(seen.get(keyId) ?? []), host]);
            turns++;
            if (--left === 0) break;
          }
        }
        for (const [keyId, found] of Map.groupBy(all, (one) => one.keyId)) {
          const turns = seen.get(keyId) ?? [];
          for (let at = 0; at + found.length <= turns.length; at++)
            expect(new Set(turns.slice(at, at + found.length)).size).toBe(found.length);
          expect(turns.length).toBeGreaterThan(0);
        }
      },
    ),
  );
});

it('a round visits at most 32 hosts of a key, later rounds visit the others, and a full key is skipped', () => {
  const all = [...hosts('a', 1_000), ...hosts('b', 1_000), ...hosts('c', 2)];
  const queue = new FairQueue(rowsOf(all));
  const round = (isFull = (_keyId: string): boolean => false): Readonly<Record<string, number>> =>
    Object.fromEntries([...Map.groupBy(queue.roundRobin(0, isFull), ({ keyId }) => keyId)].map(([keyId, found]) => [keyId, found.length]));
  expect([round(), round((keyId) => keyId === 'a')]).toEqual([
    { a: 32, b: 32, c: 2 },
    { b: 32, c: 2 },
  ]);
  const seen = new Set<string>();
  for (let n = 0; n < 40; n++) for (const { keyId, host } of queue.roundRobin(0, () => false)) seen.add(`${keyId} ${host}`);
  expect(seen.size).toBe(all.length);
});

it('every destination has a turn, however the hosts are spread over keys', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constant(32), fc.nat(40)), { minLength: 1, maxLength: 24 }), (counts) => {
      const all = counts.flatMap((count, n) => hosts(`k${String(n).padStart(2, '0')}`, count));
      const queue = new FairQueue(rowsOf(all));
      const seen = new Set<string>();
      for (let n = 0; n < 20; n++) for (const { keyId, host } of queue.roundRobin(0, () => false)) seen.add(`${keyId} ${host}`);
      expect(seen.size).toBe(all.length);
    }),
    {
      examples: [
        [Array.from({ length: 9 }, () => 32)],
        [[32, 32, 32, 32, 32, 32, 32, 22, 32]],
        [[...Array.from({ length: 7 }, () => 32), 23, 1]],
      ],
      numRuns: 20,
    },
  );
});

it('the position in a long list of hosts is remembered among thousands of keys', () => {
  const all = [...hosts('a', 100), ...Array.from({ length: 1_500 }, (_, n) => ({ keyId: `k${n}`, host: 'h' }))];
  const queue = new FairQueue(rowsOf(all));
  const seen = new Set<string>();
  for (let n = 0; n < 100; n++) for (const { keyId, host } of queue.roundRobin(0, () => false)) seen.add(`${keyId} ${host}`);
  expect(seen.size).toBe(all.length);
});
