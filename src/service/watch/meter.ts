/** What the service counts of its requests, from its start on. No keys, no addresses: routes, statuses and plans. */
import type { FastifyRequest } from 'fastify';
import { Durations } from '../../monitor/durations.ts';
import type { Refusal } from '../guard/load-gate.ts';

/** Upper bounds of the buckets, seconds: an answer from memory, the promised 200 ms, a mail server that takes its time. */
export const BOUNDS_S: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30];

/** Stands for the status of a request whose client went away before it was answered. */
export const GONE = 'gone';
/** Stands for the route of a request that has none. */
const NO_ROUTE = 'none';

export interface RouteMeter {
  readonly codes: Map<string, number>;
  readonly latency: Durations;
}

export class ServiceMeter {
  /** By method and pattern of the path, such as `POST /v1/enrich`. */
  readonly routes = new Map<string, RouteMeter>();
  readonly shed: Record<Refusal, number> = { in_flight: 0, line: 0 };
  /** By plan. */
  readonly throttled = new Map<string, number>();
  credits = 0;
  replays = 0;
  /** Lines of batch jobs that have their result. */
  batchLines = 0;

  /** @param status null: nobody was there to be answered */
  answered(request: FastifyRequest, status: number | null, ms: number): void {
    const { call } = request;
    const { codes, latency } = this.#of(routeOf(request));
    increase(codes, status === null ? GONE : String(status));
    latency.add(ms / 1_000);
    this.credits += call.credits;
    if (status === 429 && call.key !== null) increase(this.throttled, call.key.policy);
    if (call.replayed) this.replays++;
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
