import * as fc from '../support/fast-check.ts';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { LookupGroup } from '../../src/lookup/lookup-queue.ts';
import { LONGEST_FILL_MS, RequestQueue } from '../../src/lookup/request-queue.ts';
import { RequestSize, type KeptSize } from '../../src/lookup/request-size.ts';
import { stopTime } from '../limiter/virtual.ts';

const LIMIT_MS = 30_000;

/** A job whose process is killed at some answers: the requests in flight at each kill, and those that each resume sent. */
function killedJob(
  addresses: number,
  msPerAddress: number,
  groupRows: number,
  kills: readonly number[],
  pick: (flights: number) => number,
): { inFlight: string[][]; resumed: string[][] }[] {
  const answered = new Set<string>();
  let kept: KeptSize | null = null;
  const found: { inFlight: string[][]; resumed: string[][] }[] = [];
  for (const kill of [...kills, Infinity]) {
    const sizes = new RequestSize({ largest: 1_000, limitMs: LIMIT_MS, from: kept });
    let flights: LookupGroup[] = [];
    const sent: string[][] = [];
    const queue = new RequestQueue({
      batch: 1_000,
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
        queue.left();
        flights.push(group);
        sent.push([...group.keys]);
      },
      onKept: () => undefined,
    });
    for (let i = 0; i < addresses; i++) {
      if (!answered.has(`p${i}`)) queue.add(`p${i}`);
      if ((i + 1) % groupRows === 0) queue.flush();
    }
    queue.flush();
    for (let ended = 0; flights.length > 0 && ended < kill; ended++) {
      const [flight] = flights.splice(pick(flights.length), 1) as [LookupGroup];
      const count = flight.keys.length;
      const ms = count * msPerAddress;
      if (ms < LIMIT_MS || count === 1) {
        for (const email of flight.keys) answered.add(email);
        queue.ended(count, ms);
      } else {
        queue.wasTooLarge(count, 'ran into the time limit');
        queue.putBack(flight);
        queue.ended(count, null);
      }
      queue.sendNext();
    }
    found.at(-1)?.resumed.push(...sent);
    found.push({ inFlight: flights.map(({ keys }) => [...keys]), resumed: [] });
    flights = [];
  }
  expect(answered.size).toBe(addresses);
  return found;
}

function expectSameRequests(runs: ReturnType<typeof killedJob>): void {
  for (const { inFlight, resumed } of runs) {
    const whole = new Set(inFlight.map((keys) => keys.join()));
    const before = new Set(inFlight.flat());
    // Later requests may hold them in other sizes: what counts is the first that holds each.
    const again = new Set<string>();
    for (const keys of resumed) {
      const isFirst = keys.some((email) => before.has(email) && !again.has(email));
      if (isFirst) expect(whole).toContain(keys.join());
      for (const email of keys) again.add(email);
    }
  }
}

it('a resume sends what was in flight at a kill in the same requests, where the size does not divide what was put back', () => {
  for (let kill = 1; kill < 60; kill++) expectSameRequests(killedJob(3_000, 400, 3_000, [kill], () => 0));
});

it('a resume sends what was in flight at a kill in the same requests, whatever the size, the moment and the order of the answers', () => {
  const rows = fc.integer({ min: 1, max: 3_000 });
  const perAddress = fc.oneof(fc.double({ min: 1, max: 4_000, noNaN: true }), fc.constantFrom(40, 400, 700, 1_500));
  const kills = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(
      rows,
      perAddress,
      fc.integer({ min: 200, max: 3_000 }),
      kills,
      fc.array(fc.nat(), { minLength: 1, maxLength: 40 }),
      (some, ms, groupRows, moments, picks) => {
        let at = 0;
        expectSameRequests(killedJob(some, ms, groupRows, moments, (flights) => (picks[at++ % picks.length] as number) % flights));
      },
    ),
  );
});

describe('a request that is not full', () => {
  afterEach(() => vi.useRealTimers());

  function make(isOrdered: boolean): { readonly queue: RequestQueue; readonly sent: string[] } {
    stopTime();
    const sent: string[] = [];
    const send = ({ keys }: LookupGroup): void => {
      queue.left();
      sent.push(keys.join(' '));
    };
    const queue = new RequestQueue({ batch: 3, isOrdered, pace: null, send, onKept: () => undefined });
    return { queue, sent };
  }

  it('goes 2 s after its first lookup, where order fixes no request, however lookups trickle in', () => {
    const { queue, sent } = make(false);
    queue.add('a');
    vi.advanceTimersByTime(LONGEST_FILL_MS - 1);
    queue.add('b');
    expect(sent).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(sent).toEqual(['a b']);
    queue.ended(2, null);
    queue.add('c');
    vi.advanceTimersByTime(LONGEST_FILL_MS);
    expect(sent).toEqual(['a b', 'c']);
  });

  it('waits for a request in flight, and for nothing else', () => {
    const { queue, sent } = make(false);
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    vi.advanceTimersByTime(10 * LONGEST_FILL_MS);
    expect(sent).toEqual(['a b c']);
    queue.add('e');
    queue.ended(3, null);
    queue.sendNext();
    expect(sent).toEqual(['a b c', 'd e']);
  });

  it('goes only when it is flushed, where order fixes it', () => {
    const { queue, sent } = make(true);
    queue.add('a');
    vi.advanceTimersByTime(10 * LONGEST_FILL_MS);
    expect(sent).toEqual([]);
    queue.flush();
    expect(sent).toEqual(['a']);
  });

  it('leaves no timer behind once it is sent, dropped or stopped', () => {
    for (const end of ['flush', 'clear', 'stop'] as const) {
      const { queue } = make(false);
      queue.add('a');
      queue[end]();
      expect(vi.getTimerCount()).toBe(0);
    }
  });
});
