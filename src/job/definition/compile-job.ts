/** Raw layers become a compiled job, once: defaults filled in, relations checked, frozen. */
import { resolve } from 'node:path';
import { ConfigError, UsageError } from '../../errors.ts';
import { isShared } from '../../ledger/place.ts';
import { PERIODS_MS } from '../../limiter/quota-headers.ts';
import { encodingName } from '../../reader/encoding.ts';
import { isS3Uri, parseS3Uri } from '../../s3/uri.ts';
import { STEPS, type Step } from '../steps.ts';
import type { CompiledJob } from '../types.ts';
import { checkLocal } from './check-local.ts';
import { expand, isDate } from './expand.ts';
import { fingerprintOf } from './fingerprint.ts';
import { KEYS } from './keys.ts';
import { envLayer, fileLayer, flagLayer } from './layers.ts';
import type { FlagValue, JobFile, Layer } from './layers.ts';
import { expandLedgerUri } from './ledger-uri.ts';
import { didYouMean } from './nearest.ts';
import { nameOf, refusal, show } from './origin.ts';
import type { Origin } from './origin.ts';
import { bareName, checkField, outputShape } from './output-shape.ts';
import { nearestDate } from './run-date.ts';
import { jobSchema, statedWindow } from './schema.ts';
import type { RawJob } from './schema.ts';
import { expandRedisUri } from './redis-address.ts';
import { chooseService, dropReplacedChoices } from './service-choice.ts';

export { describeDifference, WRITTEN_INPUT } from './fingerprint.ts';
export { loadJobFile } from './load-job-file.ts';

export interface JobSources {
  readonly file: JobFile | null;
  readonly env: NodeJS.ProcessEnv;
  /** By flag name as typed, without the leading `--`; the flags of one execution (`fresh`, `date`, ...) left out. */
  readonly flags: ReadonlyMap<string, FlagValue>;
  /** `--date`, YYYY-MM-DD, or null. */
  readonly date: string | null;
  /** YYYY-MM-DD in UTC. */
  readonly today: string;
}

/** What the checkpoint's name adds to that of the output, unless the job says otherwise. */
export const CHECKPOINT_SUFFIX = '.checkpoint.json';

/** S3's own limit is 1,024 bytes (S3 User Guide, "Object key names"). */
const LONGEST_KEY = 950;
const EVERY_MS = { disk: 1_000, s3: 10_000 };

/** What the relations need to know of the layers: where each value came from, and what date and variables stand for. */
interface Scene {
  readonly sources: JobSources;
  readonly warnings: string[];
  readonly originOf: (path: string) => Origin | null;
  readonly expand: (uri: string, path: string) => string;
}

/**
 * Raw layers -> compiled job, deeply frozen; a flag wins over the environment, which wins over the file.
 * Throws UsageError (64) for what a flag says and ConfigError (78) for the job file and the environment, naming the
 * key and where it came from. Warnings are for the user to read; the job runs all the same.
 */
export function compileJob(sources: JobSources): { job: CompiledJob; warnings: string[] } {
  const warnings: string[] = [];
  if (sources.date !== null && !isDate(sources.date)) {
    throw new UsageError('bad_date', `--date must be a day written YYYY-MM-DD, got ${show(sources.date)}${didYouMean(nearestDate(sources.date, sources.today))}`);
  }
  const layers = [
    sources.file === null ? new Map<string, never>() : fileLayer(sources.file),
    envLayer(sources.env, warnings),
    flagLayer(sources.flags),
  ];
  dropReplacedChoices(layers);
  const merged = merge(layers);
  const originOf = (path: string): Origin | null => merged.get(path)?.origin ?? null;
  const scene: Scene = {
    sources,
    warnings,
    originOf,
    expand: (uri, path) => {
      const origin = originOf(path);
      if (origin === null) return uri;
      const surroundings = { date: sources.date ?? sources.today, env: sources.env };
      if (path === 'ledger.uri') return expandLedgerUri(uri, origin, surroundings);
      const expanded = expand(uri, origin, surroundings);
      CHECKS[path]?.(expanded, origin);
      return expanded;
    },
  };
  const draft = compile(jobSchema.parse(nest(merged)), scene);
  return { job: deepFreeze({ ...draft, fingerprint: fingerprintOf(draft, merged.get('input.uri')?.value) }), warnings };
}

/** Later layers win, key by key; in maps entry by entry, where null takes all entries back. */
export function merge(layers: readonly Layer[]): Layer {
  const merged: Layer = new Map();
  const maps = KEYS.filter((key) => key.kind === 'map');
  for (const layer of layers) {
    for (const map of maps) {
      if (layer.has(map.path)) {
        for (const path of merged.keys()) if (path.startsWith(`${map.path}.`)) merged.delete(path);
      } else if ([...layer.keys()].some((path) => path.startsWith(`${map.path}.`))) {
        merged.delete(map.path);
      }
    }
    for (const [path, sourced] of layer) merged.set(path, sourced);
  }
  return merged;
}

/** Dotted paths back into the shape of a job file. */
export function nest(merged: Layer): unknown {
  const root: Record<string, unknown> = {};
  const set = (segments: readonly string[], value: unknown): void => {
    let at = root;
    for (const segment of segments.slice(0, -1)) at = (at[segment] ??= {}) as Record<string, unknown>;
    // Defined, not assigned: a column may be called __proto__.
    Object.defineProperty(at, segments.at(-1) ?? '', { value, enumerable: true, writable: true, configurable: true });
  };
  for (const key of KEYS) {
    const own = merged.get(key.path);
    if (own !== undefined) set(key.path.split('.'), own.value);
    if (key.kind !== 'map') continue;
    for (const [path, entry] of merged) {
      if (path.startsWith(`${key.path}.`)) set([...key.path.split('.'), path.slice(key.path.length + 1)], entry.value);
    }
  }
  return root;
}

function compile(raw: RawJob, scene: Scene): Omit<CompiledJob, 'fingerprint'> {
  const uris = compileInput(raw, scene);
  const output = compileOutput(raw, scene);
  const steps = compileSteps(raw.steps, scene.originOf('steps'));
  const service = compileService(raw, scene.originOf, scene.warnings);
  warnOfIdleColumns(output.fields, steps, scene);
  const job = {
    name: compileName(raw, output.uri, scene),
    input: {
      uris,
      format: raw.input.format,
      delimiter: raw.input.delimiter === 'tab' || raw.input.delimiter === String.raw`\t` ? '\t' : raw.input.delimiter,
      encoding: raw.input.encoding === null ? null : encodingName(raw.input.encoding),
      columns: withoutUndefined(raw.input.columns),
      ifMissing: raw.input.ifMissing,
    },
    steps,
    service: { ...service, quota: compileQuota(raw.service.quota, scene) },
    verify: { when: raw.verify.when, patienceMs: raw.verify.patienceMs },
    output,
    checkpoint: compileCheckpoint(raw, output.uri, scene),
    ledger: { uri: compileStateUri(raw.ledger.uri, 'ledger', output.uri, scene), maxAgeDays: raw.ledger.maxAgeDays },
    limits: { ...raw.limits, maxErrors: compileMaxErrors(raw.limits.maxErrors) },
  };
  warnOfUnkeptLedger(raw.ledger, output.uri, scene);
  const kept = scene.originOf('ledger.maxAgeDays');
  if (raw.ledger.maxAgeDays > 0 && raw.ledger.uri === null && kept !== null) {
    throw refusal(kept, 'ledger_uri', `${nameOf(kept)}: answers that later jobs may use need a ledger of their own`, 'Say where: --ledger FILE, s3://bucket/name or redis://host, or ledger.uri in the job file.');
  }
  checkDistinct(job, scene);
  return job;
}

/** Exactly one service, and how it is asked. */
export function compileService({ service }: RawJob, originOf: Scene['originOf'], warnings: string[]): Omit<CompiledJob['service'], 'quota'> {
  const { baseUrl, embedded, plan, rpm } = chooseService(service, originOf, warnings);
  return { baseUrl, embedded, rpm, plan, concurrency: service.concurrency, timeoutMs: service.timeoutMs, windows: compileWindows(service.windows), domainField: service.fields.domain };
}

/** `50000/day` is `{limit: 50000, per: day}`. */
function compileWindows(windows: RawJob['service']['windows']): CompiledJob['service']['windows'] {
  return windows.map(statedWindow).map(({ limit, per }) => ({ limit, periodMs: PERIODS_MS[per] }));
}

function compileInput(raw: RawJob, scene: Scene): readonly string[] {
  const { uri } = raw.input;
  if (uri === undefined) throw missing('no_input', 'input.uri', '--input FILE', scene);
  const uris = (typeof uri === 'string' ? [uri] : uri).map((one) => scene.expand(one, 'input.uri'));
  const origin = scene.originOf('input.uri');
  if (origin !== null && new Set(uris).size < uris.length) {
    throw refusal(origin, 'same_file', `${nameOf(origin)} names the same input twice`, 'Each record is read once: keep one of them.');
  }
  return uris;
}

function compileOutput(raw: RawJob, scene: Scene): CompiledJob['output'] {
  const origin = scene.originOf('output.uri');
  if (raw.output.uri === undefined || origin === null) throw missing('no_output', 'output.uri', '--output FILE', scene);
  const uri = scene.expand(raw.output.uri, 'output.uri');
  const { format, compression } = outputShape(uri, raw.output.format, origin);
  const input = scene.originOf('output.fields.input');
  if (format === 'jsonl' && input !== null) throw refusal(input, 'bad_fields', 'output.fields: a row of a jsonl output has its record under "input" already', 'Give that column another name.');
  return { uri, format, compression, fields: raw.output.fields, escapeFormulas: raw.output.escapeFormulas };
}

function missing(code: string, key: string, flag: string, scene: Scene): Error {
  const { file } = scene.sources;
  const hint = `Say ${flag}, or set ${key} in a job file.`;
  if (file === null) return new UsageError(code, `There is no job file, and ${flag} is not given`, { hint: `${hint} \`millrace run sample\` runs the sample job.` });
  return new ConfigError(code, `${key} is missing (${file.path})`, { hint });
}

function compileQuota(uri: string | null, scene: Scene): string | null {
  const origin = scene.originOf('service.quota');
  if (uri === null || origin === null) return null;
  const { sources: { date, today, env } } = scene;
  return expandRedisUri(uri, 'service.quota', origin, { date: date ?? today, env });
}

function compileSteps(steps: readonly Step[], origin: Origin | null): readonly Step[] {
  const ordered = STEPS.filter((step) => steps.includes(step));
  if (origin !== null && ordered.join() !== steps.join()) {
    throw refusal(origin, 'bad_value', `${nameOf(origin)} must name each step once, in the order of the flow, got ${show(steps)}`, `Write ${ordered.join(',')}.`);
  }
  return ordered;
}

function compileName(raw: RawJob, output: string, scene: Scene): string {
  if (raw.name !== undefined) return raw.name;
  const derived = scene.sources.file?.name ?? (output === '-' ? 'stdout' : bareName(output));
  if (jobSchema.shape.name.safeParse(derived).success) return derived;
  throw new ConfigError('bad_name', `The job needs a name: ${show(derived)} cannot be one`, { hint: 'Give a shorter, printable one: --name NAME.' });
}

/** Requests take longer than a disk, and cost something. */
function compileCheckpoint(raw: RawJob, output: string, scene: Scene): CompiledJob['checkpoint'] {
  const uri = compileStateUri(raw.checkpoint.uri, 'checkpoint', output, scene);
  const inS3 = isS3Uri(uri) || isS3Uri(output);
  return { uri, everyMs: raw.checkpoint.everyMs ?? (inS3 ? EVERY_MS.s3 : EVERY_MS.disk) };
}

/** The default lies beside the output. Standard output has no checkpoint, and so no default for either: ''. */
function compileStateUri(uri: string | null, kind: 'checkpoint' | 'ledger', output: string, scene: Scene): string {
  if (uri === null) return output === '-' ? '' : `${output}${kind === 'checkpoint' ? CHECKPOINT_SUFFIX : '.ledger'}`;
  const origin = scene.originOf(`${kind}.uri`);
  if (output === '-' && kind === 'checkpoint' && origin !== null) {
    throw refusal(origin, 'no_checkpoint', `${nameOf(origin)}: rows that go to standard output have no checkpoint`, 'Leave it out, or write to a file.');
  }
  return scene.expand(uri, `${kind}.uri`);
}

/** No job has a run to standard output again. */
function warnOfUnkeptLedger({ uri, maxAgeDays }: RawJob['ledger'], output: string, scene: Scene): void {
  if (output === '-' && uri !== null && maxAgeDays === 0 && !isShared(uri)) scene.warnings.push('ledger.uri: what a run to standard output has paid for is kept for later ones only with ledger.maxAgeDays: --ledger.maxAgeDays 90');
}

function compileMaxErrors(value: number | string): CompiledJob['limits']['maxErrors'] {
  // Read as the hundredth that it is: 0.7 / 100 is less than 0.007.
  return typeof value === 'number' ? { count: value } : { share: Number(`${value.slice(0, -1)}e-2`) };
}

function warnOfIdleColumns(fields: Readonly<Record<string, string>> | null, steps: readonly Step[], scene: Scene): void {
  for (const [name, path] of Object.entries(fields ?? {})) {
    const origin = scene.originOf(`output.fields.${name}`);
    if (origin === null) continue;
    const { step, isKnown } = checkField(name, path, origin);
    if (!isKnown) scene.warnings.push(`output.fields: the column ${show(name)} is filled only where the service sends ${show(path)}: the specification has no such field`);
    if (step !== null && !steps.includes(step)) scene.warnings.push(`output.fields: the column ${show(name)} stays empty: the step ${step} is not configured`);
  }
}

/** Where each may lie. */
const CHECKS: Readonly<Record<string, (uri: string, origin: Origin) => void>> = { 'input.uri': checkInput, 'output.uri': checkObject, 'checkpoint.uri': checkObject };

function checkObject(uri: string, origin: Origin): void {
  if (!isS3Uri(uri)) return checkLocal(uri, origin);
  const key = parseS3Uri(uri)?.key ?? '';
  if (key === '' || key.endsWith('/')) throw refusal(origin, 'bad_value', `${nameOf(origin)} names no object: ${show(uri)}`, 'Write s3://bucket/key.');
  if (Buffer.byteLength(key) > LONGEST_KEY) throw refusal(origin, 'bad_value', `${nameOf(origin)} must be ${LONGEST_KEY} bytes long at most, so that the names beside it fit into S3`);
}

function checkInput(uri: string, origin: Origin): void {
  if (!isS3Uri(uri)) checkLocal(uri, origin);
  else if (parseS3Uri(uri) === null) throw refusal(origin, 'bad_value', `${nameOf(origin)} names no bucket: ${show(uri)}`, 'Write s3://bucket/key, s3://bucket/prefix/ or a glob such as s3://bucket/2026/*.csv.');
}

/** The job's own files must not overwrite one another or what is read. */
function checkDistinct(job: Omit<CompiledJob, 'fingerprint'>, scene: Scene): void {
  const seen = new Map<string, string>();
  const named: [string, string][] = [
    ...job.input.uris.map((uri): [string, string] => ['input.uri', uri]),
    ['output.uri', job.output.uri],
    ['checkpoint.uri', job.checkpoint.uri],
    ['ledger.uri', job.ledger.uri],
    ...besideOutput(job.output.uri),
  ];
  for (const [key, uri] of named) {
    if (uri === '-' || uri === '') continue;
    const path = isShared(uri) ? uri : resolve(uri);
    const other = seen.get(path);
    if (other !== undefined && other !== key) {
      const origin = scene.originOf(key) ?? scene.originOf(other);
      const message = `${key} and ${other} are the same file, ${show(uri)}`;
      const hint = 'Name another file for one of them. Beside the output stand .partial, .errors.jsonl, .report.json and .report.html.';
      throw origin === null ? new ConfigError('same_file', message, { hint }) : refusal(origin, 'same_file', message, hint);
    }
    seen.set(path, key);
  }
}

/** What a run writes under names of its own. */
function besideOutput(output: string): [string, string][] {
  if (output === '-') return [];
  return ['.partial', '.errors.jsonl', '.errors.jsonl.partial', '.report.json', '.report.html'].map((suffix) => [`the output's ${suffix}`, `${output}${suffix}`]);
}

function withoutUndefined(columns: RawJob['input']['columns']): CompiledJob['input']['columns'] {
  return {
    ...(columns.email === undefined ? {} : { email: columns.email }),
    ...(columns.domain === undefined ? {} : { domain: columns.domain }),
    ...(columns.linkedin_url === undefined ? {} : { linkedin_url: columns.linkedin_url }),
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
