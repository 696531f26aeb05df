/** A service that keeps several fixed or sliding windows at once, and calls of a limiter to it, in virtual time. */
import { vi } from 'vitest';
import type { Limiter } from '../../src/limiter/limiter.ts';
import { seeded } from '../support/leads.ts';
import { quotaOf } from './virtual.ts';

export interface TestWindow {
  readonly limit: number;
  readonly ms: number;
  readonly kind?: 'fixed' | 'sliding';
}

/** The headers of a window. */
export interface Stated extends TestWindow {
  readonly remaining: number;
  readonly resetMs: number;
}

export class WindowedService {
  readonly #windows: readonly TestWindow[];
  /** When each was taken; others' too. */
  readonly taken: number[] = [];
  refused = 0;

  constructor(windows: readonly TestWindow[]) {
    this.#windows = windows;
  }

  /** @param now wall clock: fixed windows begin at its multiples */
  take(now: number): boolean {
    if (this.state(now).some(({ remaining }) => remaining < 1)) {
      this.refused++;
      return false;
    }
    this.taken.push(now);
    return true;
  }

  state(now: number): Stated[] {
    return this.#windows.map((window) => {
      const { limit, ms, kind = 'fixed' } = window;
      const from = kind === 'fixed' ? now - (now % ms) : now - ms + 1;
      let first = this.taken.length;
      while (first > 0 && (this.taken[first - 1] as number) >= from) first--;
      const resetMs = kind === 'fixed' ? ms - (now % ms) : first < this.taken.length ? (this.taken[first] as number) + ms - now : 0;
      return { ...window, remaining: limit - (this.taken.length - first), resetMs };
    });
  }
}

export interface Calls {
  /** Starts `n` callers, each of which calls again and again until the limiter stops. */
  readonly stop: () => Promise<void>;
  readonly sent: number[];
  /** 429s heard. */
  readonly refused: () => number;
}

/**
 * Calls without end, `callers` at once.
 * @param headersOf an answer's headers
 * @param retryAfterMs the Retry-After of a 429; null when it has none
 */
export function callAlways(
  limiter: Limiter,
  service: WindowedService,
  headersOf: (state: readonly Stated[], now: number) => Record<string, string>,
  options: {
    readonly callers?: number;
    /** The shortest latency, and what comes on top of it at random, half of it before the service decides. */
    readonly latencyMs?: number;
    readonly jitterMs?: number;
    readonly seed?: number;
    /** The ways there and back of a call, counted from 0, milliseconds; in place of a latency. */
    readonly ways?: (call: number) => readonly [there: number, back: number];
    readonly retryAfterMs?: (state: readonly Stated[]) => number | null;
    readonly most?: number;
  } = {},
): Calls {
  const { callers = 8, latencyMs = 40, jitterMs = 0, seed = 1, retryAfterMs = () => null, most = Infinity } = options;
  const random = seeded(seed);
  const { ways = () => [latencyMs / 2 + random() * (jitterMs / 2), latencyMs / 2 + random() * (jitterMs / 2)] as const } = options;
  const sent: number[] = [];
  let refused = 0;
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
  const caller = async (): Promise<void> => {
    while (sent.length < most) {
      const callNumber = await limiter.take();
      if (callNumber === 0) return;
      const [there, back] = ways(sent.length);
      sent.push(Date.now());
      await sleep(there);
      const ok = service.take(Date.now());
      if (!ok) refused++;
      const state = service.state(Date.now());
      const headers = { date: new Date(Date.now()).toUTCString(), ...headersOf(state, Date.now()) };
      await sleep(back);
      limiter.observe({ callNumber, quota: quotaOf(headers), throttled: !ok, retryAfterMs: ok ? null : retryAfterMs(state) });
    }
  };
  const all = Array.from({ length: callers }, caller);
  return {
    sent,
    refused: () => refused,
    stop: async () => {
      const stopping = limiter.stop();
      await vi.advanceTimersByTimeAsync(10 * (latencyMs + jitterMs) + 100);
      await stopping;
      await Promise.all(all);
    },
  };
}
