/**
 * Prometheus' text format, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/). Pure.
 */

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface MetricSample {
  /** The suffix of the family's name: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly MetricSample[];
}

/** Families without samples are left out: a value that is not known is not 0. */
export function exposition(families: readonly Family[]): string {
  let text = '';
  for (const { name, type, help, samples } of families) {
    if (samples.length === 0) continue;
    text += `# HELP ${name} ${help.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`)}\n# TYPE ${name} ${type}\n`;
    for (const sample of samples) text += `${name}${sample.suffix ?? ''}${labelsOf(sample.labels)} ${numberOf(sample.value)}\n`;
  }
  return text;
}

/** A histogram's samples. @param counts of values up to each bound and over the one before; the last: over all bounds */
export function histogram(
  labels: Readonly<Record<string, string>>,
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
): MetricSample[] {
  let count = 0;
  const buckets = counts.map((more, i) => ({
    suffix: '_bucket',
    labels: { ...labels, le: numberOf(bounds[i] ?? Infinity) },
    value: (count += more),
  }));
  return [...buckets, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: count }];
}

function labelsOf(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) =>
      `${name}="${value
        .replaceAll('\\', String.raw`\\`)
        .replaceAll('"', String.raw`\"`)
        .replaceAll('\n', String.raw`\n`)}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function numberOf(value: number): string {
  return value === Infinity ? '+Inf' : String(value);
}
