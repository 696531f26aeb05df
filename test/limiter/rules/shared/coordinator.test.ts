import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { QuotaCoordinator } from '../../../../src/limiter/rules/shared/coordinator.ts';
import type { MissingPod, PodDemand, QuotaEvent, StampedEvent } from '../../../../src/limiter/rules/shared/messages.ts';
import { casesOf } from '../../../support/sample.ts';
import { Bucket, Sliding, type Limited } from '../../services.ts';
import { planOf } from '../../virtual.ts';

const EPOCH = Date.UTC(2036, 6, 15, 12);
const RPM = 120;
const PLAN = { rpm: RPM, windows: [] };
const PODS = ['a', 'b', 'c'];

/** Pods that always want more and answer after 40 ms; what happened, as the store would have it. */
class Bench {
  readonly history: StampedEvent[] = [];
  readonly out: { readonly id: string; readonly atMs: number }[] = [];
  readonly service: Limited;
  leader: QuotaCoordinator;
  now = 0;
  constructor(service: Limited) {
    this.service = service;
    this.leader = new QuotaCoordinator(PLAN, 'first', [], EPOCH);
  }
  missing: readonly MissingPod[] = [];
  /** Permits that pod a reports as spent. */
  guess = 0;
  get pods(): PodDemand[] {
    const away = new Set(this.missing.map(({ pod }) => pod));
    return PODS.filter((pod) => !away.has(pod)).map((pod) => ({ pod, want: 4, inFlight: 0, spent: pod === 'a' ? this.guess : 0 }));
  }
  tell(event: QuotaEvent): void {
    this.history.push({ atMs: EPOCH + this.now, event });
    this.leader.apply(event, EPOCH + this.now);
  }
  /** One turn. Returns how many permits were granted. */
  turn(answers = true): number {
    this.now += 20;
    const due = answers ? this.out.filter(({ atMs }) => atMs <= this.now - 40).length : 0;
    for (const { id } of this.out.splice(0, due)) {
      const ok = this.service.take(this.now - 20);
      const headers = {
        'x-ratelimit-limit': String(RPM),
        'x-ratelimit-remaining': String(this.service.remaining(this.now - 20)),
        'x-ratelimit-reset': String(Math.ceil(this.service.resetMs(this.now - 20) / 1_000)),
      };
      this.tell({ kind: 'answer', id, plan: planOf(headers), throttled: !ok, waitMs: ok ? null : 1_000, failed: false, ownMs: 20 });
    }
    const events = this.leader.decide(this.pods, this.missing, EPOCH + this.now);
    this.history.push(...events.map((event) => ({ atMs: EPOCH + this.now, event })));
    const ids = events.flatMap((event) => (event.kind === 'grant' ? event.ids : []));
    this.out.push(...ids.map((id) => ({ id, atMs: this.now })));
    return ids.length;
  }
}

describe('the leader of a shared quota', () => {
  it('goes on from the history as the one before would have', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.integer({ min: 30, max: 6_000 }), (sliding, turns) => {
        const make = (): Bench => new Bench(sliding ? new Sliding(RPM, false) : new Bucket(RPM, RPM / 4));
        const [kept, replaced] = [make(), make()];
        for (let i = 0; i < turns; i++) {
          kept.turn();
          replaced.turn();
        }
        replaced.leader = new QuotaCoordinator(PLAN, 'second', replaced.history, EPOCH + replaced.now);
        const next = (bench: Bench): number[] => Array.from({ length: 500 }, () => bench.turn());
        expect(next(replaced)).toEqual(next(kept));
      }),
      { numRuns: casesOf(4, 12) },
    );
  });

  it('goes by what it knows when a pod is back that was killed, and guesses that it has spent all', () => {
    const bench = new Bench(new Bucket(RPM, RPM / 4));
    const turns = (count: number): number => Array.from({ length: count }, () => bench.turn()).reduce((sum, granted) => sum + granted, 0);
    expect(turns(1_000)).toBeGreaterThan(0);
    bench.missing = [{ pod: 'a', share: 1 / 3 }];
    // Longer than a window in which the other pods have used their share.
    expect(turns(3_500)).toBeGreaterThan(0);
    bench.missing = [];
    bench.guess = RPM;
    expect(turns(500)).toBeGreaterThan(0);
  });

  it('begins when all are there and nothing is under way, or when that is waited for in vain', () => {
    const leader = new QuotaCoordinator(PLAN, 'first', [], EPOCH);
    const flying = PODS.map((pod) => ({ pod, want: 4, inFlight: pod === 'b' ? 1 : 0, spent: 10 }));
    expect(leader.decide(flying, [], EPOCH + 600)).toEqual([]);
    const begun = leader.decide(flying, [], EPOCH + 5_100);
    expect(begun).toEqual([
      { kind: 'fresh', spent: 30 },
      { kind: 'grant', pod: 'a', ids: ['first.1'] },
    ]);
  });

  it('grants to those who want, in turn, and to nobody else', () => {
    const bench = new Bench(new Bucket(RPM, RPM));
    for (let i = 0; i < 100; i++) bench.turn();
    const grants = bench.history.flatMap(({ event }) => (event.kind === 'grant' ? [event] : []));
    const granted = PODS.map((pod) => grants.filter((grant) => grant.pod === pod).reduce((sum, { ids }) => sum + ids.length, 0));
    expect(Math.max(...granted) - Math.min(...granted)).toBeLessThanOrEqual(4);
    expect(
      bench.leader.decide(
        bench.pods.map((pod) => ({ ...pod, want: 0 })),
        [],
        EPOCH + bench.now + 30_000,
      ),
    ).toEqual([]);
  });

  it('counts what pods that are gone held as spent until a later call is answered', () => {
    const service = new Bucket(RPM, RPM);
    const bench = new Bench(service);
    let held = 0;
    while (held <= 1) held = bench.turn();
    const left = service.remaining(bench.now);
    const grantedTo = (pods: PodDemand[]): string[] => {
      bench.now += 20;
      return bench.leader.decide(pods, [], EPOCH + bench.now).flatMap((event) => (event.kind === 'grant' ? event.ids : []));
    };
    expect(grantedTo([])).toEqual([]);
    const another = [{ pod: 'd', want: 10 * RPM, inFlight: 0, spent: 0 }];
    const [first = '', ...more] = grantedTo(another);
    expect(1 + more.length).toBeLessThanOrEqual(left - held);
    // They had sent none of it: what is left after the first of these says so.
    service.take(bench.now);
    bench.tell({
      kind: 'answer',
      id: first,
      plan: { limit: RPM, remaining: service.remaining(bench.now), reset: { form: 'delta', value: 30, unit: null } },
      throttled: false,
      waitMs: null,
      failed: false,
      ownMs: 1,
    });
    expect(grantedTo(another).length).toBeGreaterThanOrEqual(held);
  });

  it('leaves a missing pod its part: what it may send and what the others are granted never is more than the plan in a minute', () => {
    fc.assert(
      fc.property(fc.integer({ min: 500, max: 6_000 }), fc.boolean(), (turns, sliding) => {
        const bench = new Bench(sliding ? new Sliding(RPM, false) : new Bucket(RPM, RPM));
        for (let i = 0; i < turns; i++) bench.turn();
        const missing = [{ pod: 'c', share: 1 / 3 }];
        const history = (): StampedEvent[] => bench.history.filter(({ event }) => event.kind === 'grant');
        const before = history();
        const lately = (pods: readonly string[]): number =>
          history().reduce(
            (sum, { atMs, event }) =>
              sum + (event.kind === 'grant' && atMs > EPOCH + bench.now - 60_000 && pods.includes(event.pod) ? event.ids.length : 0),
            0,
          );
        bench.missing = missing;
        let most = Math.max(RPM - RPM / 3, lately(['a', 'b']));
        for (let i = 0; i < 6_000; i++) {
          bench.turn();
          expect(lately(['a', 'b'])).toBeLessThanOrEqual(most);
          most = Math.max(RPM - RPM / 3, Math.min(most, lately(['a', 'b'])));
        }
        expect(history().length).toBeGreaterThan(before.length);
        expect(
          history()
            .slice(before.length)
            .every(({ event }) => event.kind === 'grant' && event.pod !== 'c'),
        ).toBe(true);
      }),
      { numRuns: 5 },
    );
  });

  it('stops all for as long as a 429 asks', () => {
    const bench = new Bench(new Bucket(RPM, RPM));
    for (let i = 0; i < 60; i++) bench.turn();
    bench.tell({ kind: 'answer', id: bench.out[0]?.id ?? '', plan: null, throttled: true, waitMs: 7_000, failed: false, ownMs: 20 });
    expect(bench.leader.freeAtMs(EPOCH + bench.now)).toBe(EPOCH + bench.now + 7_000);
    const until = bench.now + 6_900;
    while (bench.now < until) expect(bench.turn(false)).toBe(0);
  });
});
