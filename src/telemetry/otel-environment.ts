/**
 * The `OTEL_*` variables, as OpenTelemetry defines them
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Pure.
 */
import type { Attributes } from './otlp.ts';

/** Where one kind of data goes. */
export interface OtlpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Longest time for sending, milliseconds. */
  readonly timeoutMs: number;
}

export interface OtelSettings {
  /** Null when not wanted. */
  readonly metrics: OtlpTarget | null;
  readonly traces: OtlpTarget | null;
  readonly resource: Attributes;
  /** Time between two sendings of metrics, milliseconds. */
  readonly everyMs: number;
  /** The trace that the run belongs to, from `TRACEPARENT` (W3C Trace Context); null without one. */
  readonly parent: { readonly traceId: string; readonly spanId: string } | null;
  /** A variable that cannot be used, and why: nothing is sent then. Null when all can. */
  readonly problem: string | null;
}

const TIMEOUT_MS = 10_000;
const EVERY_MS = 60_000;
const LEAST_EVERY_MS = 1_000;

/** Null when no variable asks for anything. @param service the default of `OTEL_SERVICE_NAME` */
export function otelSettings(env: NodeJS.ProcessEnv, service: string): OtelSettings | null {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return null;
  const targets = { metrics: targetOf(env, 'METRICS'), traces: targetOf(env, 'TRACES') };
  if (targets.metrics === null && targets.traces === null) return null;
  const problem = problemOf(env, targets);
  const trace = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}/.exec(env['TRACEPARENT'] ?? '');
  return {
    ...(problem === null ? targets : { metrics: null, traces: null }),
    resource: { 'service.name': service, ...pairs(env['OTEL_RESOURCE_ATTRIBUTES']), ...named(env['OTEL_SERVICE_NAME']) },
    everyMs: Math.max(LEAST_EVERY_MS, positive(env['OTEL_METRIC_EXPORT_INTERVAL']) ?? EVERY_MS),
    parent: trace === null ? null : { traceId: trace[1] ?? '', spanId: trace[2] ?? '' },
    problem,
  };
}

function targetOf(env: NodeJS.ProcessEnv, kind: 'METRICS' | 'TRACES'): OtlpTarget | null {
  if ((env[`OTEL_${kind}_EXPORTER`] || 'otlp') !== 'otlp') return null;
  const own = env[`OTEL_EXPORTER_OTLP_${kind}_ENDPOINT`];
  const common = env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  if (!own && !common) return null;
  return {
    // The address of one kind is used as it is. The common one gets the path of the kind.
    url: own || `${common?.replace(/\/+$/, '')}/v1/${kind.toLowerCase()}`,
    headers: { ...pairs(env['OTEL_EXPORTER_OTLP_HEADERS']), ...pairs(env[`OTEL_EXPORTER_OTLP_${kind}_HEADERS`]) },
    timeoutMs: positive(env[`OTEL_EXPORTER_OTLP_${kind}_TIMEOUT`]) ?? positive(env['OTEL_EXPORTER_OTLP_TIMEOUT']) ?? TIMEOUT_MS,
  };
}

/** Messages name the variable only: an address may hold a password. */
function problemOf(
  env: NodeJS.ProcessEnv,
  targets: { readonly metrics: OtlpTarget | null; readonly traces: OtlpTarget | null },
): string | null {
  if (
    [env['OTEL_EXPORTER_OTLP_PROTOCOL'], env['OTEL_EXPORTER_OTLP_METRICS_PROTOCOL'], env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL']].includes(
      'grpc',
    )
  )
    return 'OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and Millrace sends over HTTP: name the HTTP address of the collector, mostly port 4318';
  const isAddress = (target: OtlpTarget | null): boolean =>
    target === null || (URL.canParse(target.url) && /^https?:$/.test(new URL(target.url).protocol));
  return isAddress(targets.metrics) && isAddress(targets.traces) ? null : 'OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL';
}

/** `a=1,b=two%20words` */
function pairs(text: string | undefined): Record<string, string> {
  const found: Record<string, string> = {};
  for (const pair of (text ?? '').split(',')) {
    const at = pair.indexOf('=');
    if (at > 0) found[pair.slice(0, at).trim()] = decoded(pair.slice(at + 1).trim());
  }
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function named(name: string | undefined): Attributes {
  return name ? { 'service.name': name } : {};
}

/** Whole milliseconds. Timers of Node take no more. */
function positive(text: string | undefined): number | null {
  const value = Number(text || Number.NaN);
  return Number.isFinite(value) && value > 0 ? Math.min(Math.ceil(value), 2 ** 31 - 1) : null;
}
