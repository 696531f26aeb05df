import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Lanes } from '../../../src/service/webhooks/lanes.ts';
import type { Lane } from '../../../src/service/webhooks/slots.ts';

/** What is due, as the store tells it. */
function waiting(lanes: readonly Lane[]): ConstructorParameters<typeof Lanes>[0] {
  const sorted = (places: readonly string[]): string[] => [...new Set(places)].toSorted();
  const keys = sorted(lanes.map(({ keyId }) => keyId));
  const hostsOf = new Map([...Map.groupBy(lanes, ({ keyId }) => keyId)].map(([keyId, found]) => [keyId, sorted(found.map(({ host }) => host))]));
  const next = (places: readonly string[], after: string) => {
    const place = places.find((one) => one > after);
    return place === undefined ? null : { place, nextMs: 0 };
  };
  return { keyAfter: (keyId) => next(keys, keyId), hostAfter: (keyId, host) => next(hostsOf.get(keyId) ?? [], host) };
}

const hosts = (keyId: string, count: number): Lane[] => Array.from({ length: count }, (_, n) => ({ keyId, host: `h${String(n).padStart(4, '0')}` }));

it('each has its turn before any has a second one, wherever a look ends', () => {
  fc.assert(fc.property(fc.uniqueArray(fc.record({ keyId: fc.constantFrom('a', 'b', 'c', 'd'), host: fc.constantFrom('w', 'x', 'y', 'z') }), { selector: ({ keyId, host }) => `${keyId} ${host}`, minLength: 1 }), fc.infiniteStream(fc.integer({ min: 1, max: 5 })), (all, looks) => {
    const lanes = new Lanes(waiting(all));
    const seen = new Map<string, string[]>();
    for (let turns = 0; turns < 60;) {
      let left = looks.next().value as number;
      for (const { keyId, host } of lanes.inTurn(0, () => false)) {
        seen.set(keyId, [...(seen.get(keyId) ?? []), host]);
        turns++;
        if (--left === 0) break;
      }
    }
    for (const [keyId, found] of Map.groupBy(all, (one) => one.keyId)) {
      const turns = seen.get(keyId) ?? [];
      for (let at = 0; at + found.length <= turns.length; at++) expect(new Set(turns.slice(at, at + found.length)).size).toBe(found.length);
      expect(turns.length).toBeGreaterThan(0);
    }
  }));
});

it('one look goes through few of a key that has many, and all of them come in their turn; a key that is full takes nobody\'s', () => {
  const all = [...hosts('a', 1_000), ...hosts('b', 1_000), ...hosts('c', 2)];
  const lanes = new Lanes(waiting(all));
  const look = (isFull = (_keyId: string): boolean => false): Readonly<Record<string, number>> => Object.fromEntries([...Map.groupBy(lanes.inTurn(0, isFull), ({ keyId }) => keyId)].map(([keyId, found]) => [keyId, found.length]));
  expect([look(), look((keyId) => keyId === 'a')]).toEqual([{ a: 32, b: 32, c: 2 }, { b: 32, c: 2 }]);
  const seen = new Set<string>();
  for (let n = 0; n < 40; n++) for (const { keyId, host } of lanes.inTurn(0, () => false)) seen.add(`${keyId} ${host}`);
  expect(seen.size).toBe(all.length);
});

it('every lane has its turn, whichever keys have few and many', () => {
  fc.assert(fc.property(fc.array(fc.oneof(fc.constant(32), fc.nat(40)), { minLength: 1, maxLength: 24 }), (counts) => {
    const all = counts.flatMap((count, n) => hosts(`k${String(n).padStart(2, '0')}`, count));
    const lanes = new Lanes(waiting(all));
    const seen = new Set<string>();
    for (let n = 0; n < 20; n++) for (const { keyId, host } of lanes.inTurn(0, () => false)) seen.add(`${keyId} ${host}`);
    expect(seen.size).toBe(all.length);
  }), { examples: [[Array.from({ length: 9 }, () => 32)], [[32, 32, 32, 32, 32, 32, 32, 22, 32]], [[...Array.from({ length: 7 }, () => 32), 23, 1]]], numRuns: 20 });
});

it('where a key of many hosts was left is known, however many keys there are', () => {
  const all = [...hosts('a', 100), ...Array.from({ length: 1_500 }, (_, n) => ({ keyId: `k${n}`, host: 'h' }))];
  const lanes = new Lanes(waiting(all));
  const seen = new Set<string>();
  for (let n = 0; n < 100; n++) for (const { keyId, host } of lanes.inTurn(0, () => false)) seen.add(`${keyId} ${host}`);
  expect(seen.size).toBe(all.length);
});
