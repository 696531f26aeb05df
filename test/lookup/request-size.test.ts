import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { LookupGroup } from '../../src/lookup/lookup-queue.ts';
import { RequestQueue } from '../../src/lookup/request-queue.ts';
import { requestsFor, RequestSize, type KeptSize } from '../../src/lookup/request-size.ts';

const LIMIT_MS = 30_000;
const FULL = 1_000;

/** How long a request takes, in virtual milliseconds. `inFlight`: requests under way, itself among them. */
type Service = (addresses: number, inFlight: number, atMs: number) => number;

interface Outcome {
  /** Sizes of all requests, in order. */
  readonly sent: readonly number[];
  readonly timeouts: number;
  readonly mostInFlight: number;
  readonly tookMs: number;
  readonly size: number;
}

interface Flight extends LookupGroup {
  readonly endsMs: number;
  readonly isAnswered: boolean;
}

/**
 * A whole run in virtual time.
 * @param killAfter requests after which the process is killed once, and resumed from what its last checkpoint kept
 */
function run(addresses: number, service: Service, killAfter = Infinity): Outcome {
  const answered = new Set<string>();
  const sent: number[] = [];
  let [timeouts, mostInFlight, nowMs] = [0, 0, 0];
  let kept: KeptSize | null = null;
  const execute = (until: number): boolean => {
    const sizes = new RequestSize({ largest: FULL, limitMs: LIMIT_MS, from: kept });
    const flights: Flight[] = [];
    const queue = new RequestQueue({
      batch: FULL,
      isOrdered: true,
      pace: {
        sizes,
        limitMs: LIMIT_MS,
        tooLarge: () => undefined,
        note: () => undefined,
        keep: (_, then) => {
          kept = sizes.kept;
          then();
        },
      },
      send: (group) => {
        const { keys } = group;
        queue.left();
        sent.push(keys.length);
        const ms = service(keys.length, flights.length + 1, nowMs);
        flights.push({ ...group, endsMs: nowMs + Math.min(ms, LIMIT_MS), isAnswered: ms < LIMIT_MS });
        mostInFlight = Math.max(mostInFlight, flights.length);
      },
      onKept: () => undefined,
    });
    for (let i = 0; i < addresses; i++) if (!answered.has(`p${i}`)) queue.add(`p${i}`);
    queue.flush();
    while (flights.length > 0) {
      if (sent.length >= until) return false;
      flights.sort((one, other) => one.endsMs - other.endsMs);
      const flight = flights.shift() as Flight;
      const ms = flight.endsMs - nowMs;
      nowMs = flight.endsMs;
      if (flight.isAnswered) {
        for (const email of flight.keys) answered.add(email);
        queue.ended(flight.keys.length, Math.max(ms, service(flight.keys.length, flights.length + 1, nowMs)));
      } else {
        timeouts++;
        if (flight.keys.length > 1) {
          queue.wasTooLarge(flight.keys.length, 'ran into the time limit');
          queue.putBack(flight);
        }
        queue.ended(flight.keys.length, null);
      }
      queue.sendNext();
    }
    expect(queue.size).toBe(0);
    return true;
  };
  if (!execute(killAfter)) execute(Infinity);
  expect(answered.size).toBe(addresses);
  return { sent, timeouts, mostInFlight, tookMs: nowMs, size: (kept as KeptSize | null)?.size ?? FULL };
}

const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);
const needs =
  (msPerAddress: number): Service =>
  (addresses) =>
    msPerAddress * addresses;

describe('verify requests at a service that needs some time for each address', () => {
  it.each([1_000, 8_000])('send at most 1.5 times the addresses at 40 ms each and %d rows', (rows) => {
    const { sent, size } = run(rows, needs(40));
    expect(sum(sent)).toBeLessThanOrEqual(1.5 * rows);
    expect(size).toBe(500);
  });

  it('send at most 1.5 times the addresses at any time for each, growth included', () => {
    const someRows = fc.oneof(fc.constantFrom(1_000, 8_000), fc.integer({ min: 4_000, max: 20_000 }));
    fc.assert(
      fc.property(someRows, fc.double({ min: 0.01, max: 1_500, noNaN: true }), (rows, ms) => {
        const { sent } = run(rows, needs(ms));
        expect(sum(sent)).toBeLessThanOrEqual(1.5 * rows);
      }),
    );
  });

  it('send at most 1.5 times the addresses when the service takes one request after the other', () => {
    fc.assert(
      fc.property(fc.constantFrom(8_000, 20_000), fc.double({ min: 1, max: 60, noNaN: true }), (rows, ms) => {
        const { sent } = run(rows, (addresses, inFlight) => ms * addresses * inFlight);
        expect(sum(sent)).toBeLessThanOrEqual(1.5 * rows);
      }),
    );
  });

  it('try a larger size less and less often when the service hangs above some size', () => {
    const few = fc.tuple(fc.constant(1_000), fc.integer({ min: 63, max: 999 }));
    const scenario = fc.oneof(few, fc.tuple(fc.constantFrom(8_000, 20_000), fc.integer({ min: 20, max: 999 })));
    fc.assert(
      fc.property(scenario, ([rows, most]) => {
        const { sent } = run(rows, (addresses) => (addresses > most ? Infinity : 5));
        expect(sum(sent)).toBeLessThanOrEqual(1.5 * rows);
      }),
    );
  });

  it('after a kill and a resume repeat those in flight, and at most half of the addresses beyond that', () => {
    const perAddress = fc.double({ min: 1, max: 200, noNaN: true });
    fc.assert(
      fc.property(fc.constantFrom(1_000, 8_000), perAddress, fc.integer({ min: 1, max: 40 }), (rows, ms, killAfter) => {
        const { sent, mostInFlight } = run(rows, needs(ms), killAfter);
        const inFlight = mostInFlight * Math.max(...sent.slice(Math.max(0, killAfter - mostInFlight), killAfter), 0);
        expect(sum(sent)).toBeLessThanOrEqual(1.5 * rows + inFlight);
      }),
    );
  });

  it('begin after a resume with the size that worked', () => {
    const { sent } = run(8_000, needs(40), 3);
    expect(sent.slice(0, 6)).toEqual([1_000, 500, 500, 500, 500, 500]);
    expect(sum(sent)).toBeLessThanOrEqual(1.5 * 8_000);
  });

  it('become full again when the service becomes fast, without repeating any address', () => {
    const { sent, timeouts, size } = run(20_000, (addresses, _, atMs) => (atMs < LIMIT_MS ? 40 : 1) * addresses);
    expect([timeouts, size, sum(sent)]).toEqual([1, FULL, 21_000]);
    expect(sent.slice(-8, -1)).toEqual(Array.from({ length: 7 }, () => FULL));
  });
});

describe('verify requests at a service whose speed is not known', () => {
  it('begin with one alone, full when as many addresses again wait behind it', () => {
    const sizes = new RequestSize({ largest: FULL, limitMs: LIMIT_MS, from: null });
    expect([1_999, 2_000, 16_384].map((waiting) => sizes.next(waiting, false))).toEqual([0, FULL, FULL]);
    expect([1, 500, 501, 1_000, 1_001, 1_999, 2_000].map((waiting) => sizes.next(waiting, true))).toEqual([
      1,
      500,
      250,
      250,
      501,
      1_000,
      FULL,
    ]);
    expect([sizes.mayGo(0), sizes.mayGo(1)]).toEqual([true, false]);
  });

  it('become full after a quick answer, and more of them go with each answer', () => {
    const { sent, mostInFlight } = run(40_000, needs(1));
    expect(sent).toEqual(Array.from({ length: 40 }, () => FULL));
    expect(mostInFlight).toBeGreaterThan(12);
  });

  it('match the number in the plan', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12_000 }), (rows) => {
        expect(run(rows, needs(1)).sent).toHaveLength(requestsFor(rows, { largest: FULL, from: null }));
      }),
    );
  });
});

it('a size learnt from a short input is a guess: the next answers make the requests full again', () => {
  const sizes = new RequestSize({ largest: FULL, limitMs: LIMIT_MS, from: null });
  expect(sizes.kept).toBeNull();
  expect([sizes.answered(250, 100), sizes.size, sizes.isGuess]).toEqual(['size', 500, true]);
  expect([sizes.answered(500, 200), sizes.size, sizes.isGuess]).toEqual(['size', FULL, false]);
});

it('only the first of several requests that were too large at the same moment changes the size', () => {
  const sizes = new RequestSize({ largest: FULL, limitMs: LIMIT_MS, from: { size: FULL, most: null } });
  expect([sizes.tooLarge(FULL, 8), sizes.tooLarge(FULL, 7), sizes.size]).toEqual([true, false, 500]);
  // As many at half the size: half as many addresses are in flight.
  expect(sizes.kept).toEqual({ size: 500, most: 8 });
});
