/** The windows of a vendor, its log and its evaluation. Vendor and bench share these limiters. */
import type { Kind, Limited } from '../../test/limiter/services.ts';
import { MINUTE } from '../../test/limiter/services.ts';
import { limiterOf, measure, type Measured } from './quota-log.ts';

export interface VendorWindow {
  readonly name: 'second' | 'minute';
  readonly limit: number;
  readonly periodMs: number;
}

export interface WindowedVendor {
  /** All its windows are of this kind. */
  readonly kind: Kind;
  readonly windows: readonly VendorWindow[];
  /** True when its answers tell what each window has left. */
  readonly hasHeaders: boolean;
  /** True when it knows everybody; false when it knows nobody. */
  readonly knows: boolean;
  readonly seed: number;
}

/** Milliseconds since the first request, and the window without room; null for an admitted request. */
export type VendorLog = readonly (readonly [atMs: number, full: number | null])[];

/** One limiter for each window, all in milliseconds. */
export function limitersOf({ kind, windows, seed }: Pick<WindowedVendor, 'kind' | 'windows' | 'seed'>): Limited[] {
  return windows.map(({ limit, periodMs }, index) => inPeriod(limiterOf({ kind, rpm: limit, neighbour: 0, seed: seed + index }), periodMs));
}

/** A limiter whose minute is that long. */
function inPeriod(limiter: Limited, periodMs: number): Limited {
  const scale = MINUTE / periodMs;
  return {
    take: (t) => limiter.take(t * scale),
    remaining: (t) => limiter.remaining(t * scale),
    resetMs: (t) => limiter.resetMs(t * scale) / scale,
    nextMs: (t) => limiter.nextMs(t * scale) / scale,
    lapsed: (t) => limiter.lapsed(t * scale),
    held: (t) => limiter.held(t * scale),
  };
}

/** How much of one window was used from the second one on; what other windows refused was not offered to it. */
export function measureWindow(log: VendorLog, vendor: WindowedVendor, index: number, endMs: number): Measured {
  const { limit, periodMs } = vendor.windows[index] ?? { limit: 1, periodMs: MINUTE };
  const scale = MINUTE / periodMs;
  const own = log.flatMap(([atMs, full]) => {
    if (full !== null && full !== index) return [];
    return [[atMs * scale, full === null ? 'admitted' : 'refused'] as const];
  });
  return measure(own, { kind: vendor.kind, rpm: limit, neighbour: 0, seed: vendor.seed + index }, endMs * scale);
}
