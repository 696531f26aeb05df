/**
 * OpenTelemetry's protocol as JSON (OTLP/HTTP, https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): metrics from the families
 * of `/metrics`, and spans. Pure.
 */
import type { Family, MetricSample } from './prometheus-text.ts';

/** The sums count from the start of the process (AGGREGATION_TEMPORALITY_CUMULATIVE). */
const CUMULATIVE = 2;
/** SPAN_KIND_INTERNAL. */
const INTERNAL = 1;
const STATUS = { ok: 1, error: 2 } as const;
const SCOPE = { name: 'millrace' };

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** Hex, 32 characters. */
  readonly traceId: string;
  /** Hex, 16 characters. */
  readonly spanId: string;
  /** Null for the root of a trace. */
  readonly parentSpanId: string | null;
  readonly name: string;
  /** Epoch milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** The message of an error; null without one. */
  readonly error: string | null;
}

/** The body for `/v1/metrics`. @param fromMs the start of the process @param nowMs both epoch milliseconds */
export function metricsBody(families: readonly Family[], resource: Attributes, fromMs: number, nowMs: number): string {
  const metrics = families.filter(({ samples }) => samples.length > 0).map((family) => metricOf(family, fromMs, nowMs));
  return JSON.stringify({ resourceMetrics: [{ resource: { attributes: listOf(resource) }, scopeMetrics: [{ scope: SCOPE, metrics }] }] });
}

/** The body for `/v1/traces`. */
export function tracesBody(spans: readonly Span[], resource: Attributes): string {
  const written = spans.map(({ parentSpanId, startMs, endMs, attributes, error, ...span }) => ({
    ...span,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    kind: INTERNAL,
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(endMs),
    attributes: listOf(attributes),
    status: error === null ? { code: STATUS.ok } : { code: STATUS.error, message: error },
  }));
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: listOf(resource) }, scopeSpans: [{ scope: SCOPE, spans: written }] }],
  });
}

function metricOf({ name, type, help, samples }: Family, fromMs: number, nowMs: number): object {
  const times = { startTimeUnixNano: nanos(fromMs), timeUnixNano: nanos(nowMs) };
  if (type === 'histogram')
    return { name, description: help, histogram: { aggregationTemporality: CUMULATIVE, dataPoints: histogramPoints(samples, times) } };
  const dataPoints = samples.map(({ labels, value }) => ({ ...times, attributes: listOf(labels ?? {}), asDouble: value }));
  return type === 'counter'
    ? { name, description: help, sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } }
    : { name, description: help, gauge: { dataPoints } };
}

/** Prometheus' buckets count all values up to their bound, and OTLP's only those over the bound before. */
function histogramPoints(samples: readonly MetricSample[], times: object): object[] {
  const points = new Map<string, { labels: Record<string, string>; bounds: number[]; upTo: number[]; sum: number; count: number }>();
  for (const { suffix, labels = {}, value } of samples) {
    const { le, ...own } = labels;
    const name = JSON.stringify(own);
    let point = points.get(name);
    if (point === undefined) points.set(name, (point = { labels: own, bounds: [], upTo: [], sum: 0, count: 0 }));
    if (suffix === '_sum') point.sum = value;
    else if (suffix === '_count') point.count = value;
    else {
      point.upTo.push(value);
      if (le !== '+Inf') point.bounds.push(Number(le));
    }
  }
  return [...points.values()].map(({ labels, bounds, upTo, sum, count }) => ({
    ...times,
    attributes: listOf(labels),
    count: String(count),
    sum,
    bucketCounts: upTo.map((value, i) => String(value - (upTo[i - 1] ?? 0))),
    explicitBounds: bounds,
  }));
}

function listOf(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));
}

function valueOf(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** 64-bit integers are text in JSON. */
function nanos(ms: number): string {
  return `${Math.round(ms)}000000`;
}
