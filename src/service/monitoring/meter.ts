/** Counts requests since the start, by route, status and plan. Keys and addresses are left out. */
import type { FastifyRequest } from 'fastify';
import { Durations } from '../../telemetry/duration-histogram.ts';
import type { ShedReason } from '../guards/load-gate.ts';

/** Upper bounds of the histogram, seconds: from an answer out of memory, over the promised 200 ms, to a slow mail server. */
const BOUNDS_S: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30];

/** The status of a request whose client went away before the answer. */
export const GONE = 'gone';
/** The route of a request without one. */
const NO_ROUTE = 'none';

interface RouteMeter {
  readonly codes: Map<string, number>;
  readonly latency: Durations;
}

export class ServiceMeter {
  /** By method and pattern of the path, such as `POST /v1/enrich`. */
  readonly routes = new Map<string, RouteMeter>();
  readonly shed: Record<ShedReason, number> = { in_flight: 0, line: 0 };
  /** By plan. */
  readonly throttled = new Map<string, number>();
  credits = 0;
  replays = 0;
  /** Finished lines of batch jobs. */
  batchLines = 0;

  /** @param status null when the client went away before the answer */
  answered(request: FastifyRequest, status: number | null, ms: number): void {
    const { key, credits, isReplay } = request.call.charge;
    const { codes, latency } = this.#of(routeOf(request));
    increase(codes, status === null ? GONE : String(status));
    latency.add(ms / 1_000);
    this.credits += credits;
    if (status === 429 && key !== null) increase(this.throttled, key.policy);
    if (isReplay) this.replays++;
  }

  #of(route: string): RouteMeter {
    const known = this.routes.get(route);
    if (known !== undefined) return known;
    const made = { codes: new Map<string, number>(), latency: new Durations(BOUNDS_S) };
    this.routes.set(route, made);
    return made;
  }
}

/** Method and pattern of a request's route: never the path itself, which may name a company. */
export function routeOf({ is404, method, routeOptions: { url } }: FastifyRequest): string {
  return is404 || url === undefined ? NO_ROUTE : `${method} ${url}`;
}

function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
