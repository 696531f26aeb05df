/** A strict reader of Prometheus' text format 0.0.4: it throws where a scraper would, and where `promtool check metrics` would warn. */

export interface Parsed {
  readonly type: string;
  /** By name and labels as they stand. */
  readonly samples: Map<string, number>;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
const SAMPLE = new RegExp(String.raw`^(${NAME})(\{${LABEL}(?:,${LABEL})*\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$`);

export function parseExposition(text: string): Map<string, Parsed> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, Parsed>();
  let helped = '';
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, help] = new RegExp(`^# HELP (${NAME}) \\S.*$`).exec(line) ?? [];
    const [, typed, type = ''] = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram)$`).exec(line) ?? [];
    if (help !== undefined) helped = help;
    else if (typed !== undefined) {
      if (typed !== helped || families.has(typed)) throw new Error(`${typed} has no help, or comes twice`);
      if ((type === 'counter') !== typed.endsWith('_total')) throw new Error(`${typed} is a ${type}`);
      families.set((current = typed), { type, samples: new Map() });
    } else addSample(line, current, families);
  }
  for (const [name, { type, samples }] of families) if (type === 'histogram') checkHistogram(name, samples);
  return families;
}

function addSample(line: string, current: string, families: Map<string, Parsed>): void {
  const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? [];
  const family = families.get(current);
  const suffix = name.startsWith(current) ? name.slice(current.length) : null;
  const allowed = family?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
  if (family === undefined || suffix === null || !allowed.includes(suffix)) throw new Error(`no sample of ${current}: ${line}`);
  if (family.samples.has(name + labels)) throw new Error(`twice: ${line}`);
  family.samples.set(name + labels, value === '+Inf' ? Infinity : Number(value));
}

/** Buckets never fall, and the last is the count. */
function checkHistogram(name: string, samples: ReadonlyMap<string, number>): void {
  const last = new Map<string, number>();
  for (const [key, value] of samples) {
    const [, labels = '', le] = /^\w+_bucket\{(.*?),?le="([^"]+)"\}$/.exec(key) ?? [];
    if (le === undefined) continue;
    if (value < (last.get(labels) ?? 0)) throw new Error(`${key} is less than the bucket before`);
    last.set(labels, value);
    if (le === '+Inf' && samples.get(`${name}_count{${labels}}`) !== value) throw new Error(`${key} is not the count`);
  }
  if (last.size === 0) throw new Error(`${name} has no buckets`);
}
