/** Switches that make the service bad on purpose, so that a client can be tried against it. Deterministic by seed. */

/** Rates are shares of all API requests, 0 to 1, drawn independently for each request in order of arrival. */
export interface Faults {
  /** Added to every answer, milliseconds. */
  latencyMs: number;
  /** Up to this much more, evenly spread, milliseconds. */
  latencyJitterMs: number;
  /** Answered 500 without doing the work. */
  errorRate: number;
  /** Answered 429 although there is quota. */
  throttleRate: number;
  /** Connection cut: one half before the work is done, one half after it (done and charged, but never heard of). */
  dropRate: number;
  /** Never answered; the connection stays open until a side closes it. */
  hangRate: number;
  seed: number;
}

export const NO_FAULTS: Readonly<Faults> = { latencyMs: 0, latencyJitterMs: 0, errorRate: 0, throttleRate: 0, dropRate: 0, hangRate: 0, seed: 1 };

/** What is to happen to one request. */
export interface Fate {
  readonly kind: 'none' | 'error' | 'throttle' | 'drop_before' | 'drop_after' | 'hang';
  readonly delayMs: number;
}

const UNHARMED: Fate = { kind: 'none', delayMs: 0 };

/** Draws a fate for each request in turn; null when there is nothing to draw. Always the same fates for the same faults. */
export function fates(options: Partial<Faults>): (() => Fate) | null {
  const faults: Faults = { ...NO_FAULTS, ...options };
  const rates = [faults.errorRate, faults.throttleRate, faults.dropRate, faults.hangRate];
  if (rates.every((rate) => rate <= 0) && faults.latencyMs <= 0 && faults.latencyJitterMs <= 0) return null;
  const random = seeded(faults.seed);
  return () => {
    // Five draws whatever happens: changing one rate leaves the fates of the others where they were.
    const [error, throttle, drop, hang, jitter] = [random(), random(), random(), random(), random()];
    const delayMs = Math.max(0, faults.latencyMs + jitter * faults.latencyJitterMs);
    if (drop < faults.dropRate) return { kind: drop < faults.dropRate / 2 ? 'drop_before' : 'drop_after', delayMs };
    if (hang < faults.hangRate) return { kind: 'hang', delayMs };
    if (throttle < faults.throttleRate) return { kind: 'throttle', delayMs };
    if (error < faults.errorRate) return { kind: 'error', delayMs };
    return delayMs === 0 ? UNHARMED : { kind: 'none', delayMs };
  };
}

/** Numbers in [0, 1), evenly spread: a 32-bit counter by the golden ratio, its bits mixed as MurmurHash3 finishes. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    return ((x ^ (x >>> 16)) >>> 0) / 0x1_0000_0000;
  };
}
