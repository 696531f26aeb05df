import { servicePace } from '../../../src/definition/job-provider.ts';
import * as fc from '../../support/fast-check.ts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import type { Limiter } from '../../../src/limiter/limiter.ts';
import { spentBefore } from '../../../src/job/run/spent-before.ts';
import { newCheckpoint } from '../../../src/job/lifecycle/new-checkpoint.ts';
import { jobPaths } from '../../../src/job/lifecycle/paths.ts';
import { compiled } from '../../definition/support.ts';
import { Bucket, Fixed, mostInAMinute, Sliding, type Limited } from '../../limiter/services.ts';
import { makeLimiter, quotaOf, stopTime } from '../../limiter/virtual.ts';
import { casesOf } from '../../support/sample.ts';

const DAY_MS = 86_400_000;

beforeEach(stopTime);
afterEach(() => void vi.useRealTimers());

function freshCheckpoint(job: CompiledJob): Checkpoint {
  const manifest = { files: [], format: 'csv', columns: [], keyName: null } as unknown as Checkpoint['manifest'];
  return newCheckpoint(job, jobPaths(job, { scratch: null }), manifest, 1, new Date());
}

it.each(['enterprise', 'scale'])(
  'after a kill on the %s plan, a stated day counts the calls claimed since the checkpoint as spent, and no minute of the plan',
  (plan) => {
    const job = compiled({ flags: { input: 'in.csv', output: 'out.csv', embedded: true, plan, 'service.windows': '50000/day' } });
    const fresh = freshCheckpoint(job);
    const window = { periodMs: DAY_MS, limit: 50_000, left: null, resetAtMs: null, spent: [[0, 1_000]] as const };
    const checkpoint: Checkpoint = {
      ...fresh,
      state: 'running',
      callsAtMost: 1_700,
      spent: { minute: [[0, 90]], savedAtMs: 0, sent: 1_200, windows: [window] },
    };
    expect(spentBefore(job, servicePace(job), checkpoint, true, 0)?.windows).toEqual([
      {
        ...window,
        spent: [
          [0, 1_000],
          [job.checkpoint.everyMs, 500],
        ],
      },
    ]);
    expect(spentBefore(job, servicePace(job), checkpoint, false, 0)?.windows).toEqual([window]);
  },
);

const EVERY_MS = 5_000;
const FLAGS = { input: 'in.csv', output: 'out.csv', embedded: true, 'checkpoint.everyMs': String(EVERY_MS) };

interface Run {
  readonly ms: number;
  readonly isKilled: boolean;
  readonly awayMs: number;
}

interface Service {
  /** Requests a minute; the plan's are as many, or fewer. */
  readonly limit: number;
  /** null when the service states no quota and refuses nothing. */
  readonly limiter: Limited | null;
}

/** A job and its service, in virtual time. The checkpoints are `EVERY_MS` apart. */
class Job {
  readonly #job: CompiledJob;
  readonly #service: Service;
  readonly #latencyMs: number;
  /** Runs that have sent a call. */
  readonly #begun = new Set<Limiter>();
  readonly #startMs = performance.now();
  #checkpoint: Checkpoint;
  /** When calls were sent, in order. */
  readonly sent: number[] = [];
  /** 429s, without those of a run's first call. */
  refused = 0;

  constructor(rpm: number, service: Service, latencyMs: number) {
    this.#job = compiled({ flags: { ...FLAGS, rpm: String(rpm) } });
    this.#service = service;
    this.#latencyMs = latencyMs;
    this.#checkpoint = freshCheckpoint(this.#job);
  }

  async run({ ms, isKilled, awayMs }: Run): Promise<void> {
    const restored = spentBefore(this.#job, servicePace(this.#job), this.#checkpoint, this.#checkpoint.state === 'running', Date.now());
    const limiter = makeLimiter(servicePace(this.#job).rpm, { restored });
    const taking = (async () => {
      for (let callNumber = await limiter.take(); callNumber !== 0; callNumber = await limiter.take()) this.#send(limiter, callNumber);
    })();
    const save = (state: 'running' | 'stopped'): void => {
      this.#checkpoint = { ...this.#checkpoint, state, spent: limiter.save() };
    };
    save('running');
    for (let left = ms; left > 0; left -= EVERY_MS) {
      await vi.advanceTimersByTimeAsync(Math.min(left, EVERY_MS));
      if (left > EVERY_MS) save('running');
    }
    const stopping = limiter.stop();
    await vi.advanceTimersByTimeAsync(this.#latencyMs + 50);
    await Promise.all([stopping, taking]);
    if (!isKilled) save('stopped');
    await vi.advanceTimersByTimeAsync(awayMs);
  }

  #send(limiter: Limiter, callNumber: number): void {
    const isFirst = !this.#begun.has(limiter);
    this.#begun.add(limiter);
    this.sent.push(performance.now());
    setTimeout(() => {
      const now = performance.now() - this.#startMs;
      const isRefused = this.#service.limiter?.take(now) === false;
      if (isRefused && !isFirst) this.refused++;
      const answer = { callNumber, quota: this.#quota(now), throttled: isRefused, retryAfterMs: this.#retryAfterMs(isRefused, now) };
      setTimeout(() => limiter.observe(answer), this.#latencyMs / 2);
    }, this.#latencyMs / 2);
  }

  #quota(now: number): ReturnType<typeof quotaOf> {
    const { limit, limiter } = this.#service;
    if (limiter === null) return null;
    return quotaOf({
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(limiter.remaining(now)),
      'x-ratelimit-reset': String(Math.ceil(limiter.resetMs(now) / 1_000)),
    });
  }

  #retryAfterMs(isRefused: boolean, now: number): number | null {
    return isRefused ? Math.max(1_000, Math.ceil((this.#service.limiter?.nextMs(now) ?? 0) / 1_000) * 1_000) : null;
  }
}

const SERVICES: Readonly<Record<string, (rpm: number) => Service>> = {
  'without quota headers': (limit) => ({ limit, limiter: null }),
  'with twice the quota of the plan': (rpm) => ({ limit: 2 * rpm, limiter: new Bucket(2 * rpm, 2 * rpm) }),
  'with a fixed window': (limit) => ({ limit, limiter: new Fixed(limit, 17_000) }),
  'with a sliding window': (limit) => ({ limit, limiter: new Sliding(limit, false) }),
  'with a token bucket': (limit) => ({ limit, limiter: new Bucket(limit, limit) }),
};
/** Without another limit the plan's own rate counts. */
const ONLY_THE_PLAN = Object.entries(SERVICES).slice(0, 2);

it.each(Object.entries(SERVICES))('runs killed and stopped at any moment keep to the quota of a service %s', async (_, serviceOf) => {
  const ms = fc.integer({ min: 1, max: 70_000 });
  const runs = fc.array(fc.record({ ms, isKilled: fc.boolean(), awayMs: ms }), { minLength: 2, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 30, max: 240 }), fc.nat(300), runs, async (rpm, latencyMs, all) => {
      const service = serviceOf(rpm);
      const job = new Job(rpm, service, latencyMs);
      for (const run of all) await job.run(run);
      expect(job.refused).toBe(0);
      // The first call of a run goes in any case: its answer may state a quota.
      if (service.limiter === null || service.limit > rpm) expect(mostInAMinute(job.sent)).toBeLessThanOrEqual(rpm + all.length);
    }),
    { numRuns: casesOf(10, 100) },
  );
});

it.each(ONLY_THE_PLAN)(
  'after a kill, a resume and a stop, calls start as soon as the minute is over that the kill may have spent: a service %s',
  async (_, serviceOf) => {
    const job = new Job(60, serviceOf(60), 50);
    await job.run({ ms: 4 * EVERY_MS, isKilled: true, awayMs: 0 });
    // The assumed minute ends `EVERY_MS` after the kill at the latest, a minute later.
    await job.run({ ms: 40_000, isKilled: false, awayMs: 20_000 + EVERY_MS });
    const [before, since] = [job.sent.length, performance.now()];
    await job.run({ ms: 20_000, isKilled: false, awayMs: 0 });
    const third = job.sent.slice(before);
    expect(third.length).toBeGreaterThanOrEqual(18);
    expect((third[1] as number) - since).toBeLessThanOrEqual(2_000);
  },
);
