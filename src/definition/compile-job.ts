/** Compiles raw layers into a job, once: defaults filled in, relations checked, frozen. */
import { ConfigError, UsageError } from '../util/errors.ts';
import { isShared } from './ledger-location.ts';
import { encodingName } from '../formats/encodings/encoding.ts';
import { isS3Uri } from '../s3/uri.ts';
import type { CompiledJob } from './compiled-job.ts';
import { eachAlert } from './alerts.ts';
import { checkDistinct, URI_CHECKS } from './check-uris.ts';
import type { CompileContext, JobSources } from './compile-context.ts';
import { missing } from './compile-context.ts';
import { compileOutput, delimiterOf, warnOfIdleColumns } from './compile-output.ts';
import { compileWritten } from './condition/compile-condition.ts';
import { compileConditions } from './conditions.ts';
import { checkKeys, compileProviders, definitionOf, namesChosen, namesUsed, refuseRules, type WrittenSteps } from './compile-providers.ts';
import { compileService, serviceWaterfalls } from './compile-service.ts';
import { dayOf, expand, isDate, runDay } from './expand.ts';
import { fingerprintOf } from './fingerprint.ts';
import { envLayer, fileLayer, flagLayer } from './layers.ts';
import type { Layer } from './layers.ts';
import { mergeLayers, nestPaths } from './merge-layers.ts';
import { expandLedgerUri } from './ledger-uri.ts';
import { didYouMean } from '../util/nearest.ts';
import { originName, refusal, show } from './origin.ts';
import type { Origin } from './origin.ts';
import { bareName } from './output-shape.ts';
import { warnOfIdleKeys, type StepOptions } from './step-options.ts';
import { notificationOf } from './notification.ts';
import { nearestDate } from './run-date.ts';
import { jobSchema } from './schema.ts';
import type { RawJob } from './schema.ts';
import { expandRedisUri } from './redis-address.ts';
import { dropReplacedChoices, refuseService } from './service-choice.ts';
import { readSteps } from './step-schema.ts';
import { eachStep, type StandardStep, type Step } from '../steps/registry.ts';
import type { StepSpec } from '../steps/step-spec.ts';
import { checkSteps, eachOwnStep } from './own-steps.ts';
import type { Waterfalls } from './waterfall.ts';

export { describeDifference, WRITTEN_INPUT } from './fingerprint.ts';
export { loadJobFile } from './load-job-file.ts';
export type { JobSources } from './compile-context.ts';

/** The suffix of the default checkpoint: the output's name and this. */
export const CHECKPOINT_SUFFIX = '.checkpoint.json';

const EVERY_MS = { disk: 1_000, s3: 10_000 };

/**
 * Compiles layers into a deeply frozen job. A flag wins over the environment, which wins over the file. Warnings are for the user; the job
 * runs all the same.
 * @throws UsageError (64) for a flag, ConfigError (78) for the job file and the environment; both name the key and its origin
 */
export function compileJob(sources: JobSources): { job: CompiledJob; warnings: string[] } {
  const warnings: string[] = [];
  if (sources.date !== null && !isDate(sources.date)) {
    const meant = nearestDate(sources.date, runDay(null, sources.now).date);
    throw new UsageError('bad_date', `--date must be a day written YYYY-MM-DD, got ${show(sources.date)}${didYouMean(meant)}`);
  }
  const merged = readLayers(sources, warnings);
  const originOf = (path: string): Origin | null => merged.get(path)?.origin ?? null;
  const context: CompileContext = {
    sources,
    warnings,
    originOf,
    paths: [...merged.keys()],
    expand: (uri, path, daysAgo = 0) => {
      const origin = originOf(path);
      if (origin === null) return uri;
      const surroundings = { ...runDay(sources.date, sources.now, daysAgo), env: sources.env };
      if (path === 'ledger.uri') return expandLedgerUri(uri, origin, surroundings);
      const expanded = expand(uri, origin, surroundings);
      URI_CHECKS[path]?.(expanded, origin);
      return expanded;
    },
  };
  const draft = compile(jobSchema.parse(nestPaths(merged)), context);
  return { job: deepFreeze({ ...draft, fingerprint: fingerprintOf(draft, merged.get('input.uri')?.value) }), warnings };
}

function readLayers({ file, env, flags }: Pick<JobSources, 'file' | 'env' | 'flags'>, warnings: string[]): Layer {
  const layers = [file === null ? new Map<string, never>() : fileLayer(file), envLayer(env, warnings), flagLayer(flags)];
  dropReplacedChoices(layers);
  return mergeLayers(layers);
}

/**
 * The provider definitions that a job names, each a name or a path: to be loaded before the job is compiled.
 * @throws UsageError, ConfigError as `compileJob`
 */
export function definitionsNamed(sources: Pick<JobSources, 'file' | 'env' | 'flags'>): readonly string[] {
  const { providers } = jobSchema.parse(nestPaths(readLayers(sources, [])));
  return [...new Set(Object.entries(providers).map(([name, written]) => definitionOf(name, written)))];
}

function compile(raw: RawJob, context: CompileContext): Omit<CompiledJob, 'fingerprint'> {
  const uris = compileInput(raw, context);
  const output = compileOutput(raw, context);
  const { names: steps, rules } = readSteps(raw.steps);
  const { namesProviders, providers, ownSteps, waterfalls } = compileWhomToAsk(raw, { names: steps, rules }, context);
  refuseLaterPerson(raw, steps, context);
  const options = compileOptions(raw, namesProviders ? waterfalls : null, ownSteps);
  warnOfIdleColumns(output.fields, { steps, ownSteps }, context);
  warnOfIdleKeys(steps, options, raw.input.columns, context.warnings);
  const job = {
    name: compileName(raw, output.uri, context),
    day: dayOf([raw.output.uri ?? '', ...[raw.input.uri ?? []].flat()], runDay(context.sources.date, context.sources.now)),
    input: {
      uris,
      format: raw.input.format,
      delimiter: delimiterOf(raw.input.delimiter),
      skipLines: raw.input.skipLines,
      header: raw.input.header,
      encoding: raw.input.encoding === null ? null : encodingName(raw.input.encoding),
      columns: withoutUndefined(raw.input.columns),
      country: raw.input.country?.toUpperCase() ?? null,
      ifMissing: raw.input.ifMissing,
      where: compileWhere(raw.input.where, { steps, ownSteps }, context),
    },
    steps,
    ownSteps,
    providers,
    waterfalls,
    conditions: compileStepConditions({ steps, ownSteps }, rules, context),
    namesProviders,
    options,
    output,
    suppress: raw.suppress === null ? null : context.expand(raw.suppress, 'suppress'),
    checkpoint: compileCheckpoint(raw, output.uri, context),
    ledger: { uri: compileStateUri(raw.ledger.uri, 'ledger', output.uri, context), maxAgeDays: raw.ledger.maxAgeDays },
    limits: { ...raw.limits, maxErrors: compileMaxErrors(raw.limits.maxErrors) },
    onFinish: compileNotification(raw.onFinish, 'onFinish', context),
    onTrouble: compileNotification(raw.onTrouble, 'onTrouble', context),
    alerts: eachAlert((name) => (raw.alerts[name] === null ? null : shareOf(raw.alerts[name])), raw.alerts.sameInput),
  };
  warnOfUnkeptLedger(raw.ledger, output.uri, context);
  const kept = context.originOf('ledger.maxAgeDays');
  if (raw.ledger.maxAgeDays > 0 && raw.ledger.uri === null && kept !== null) {
    throw refusal(
      kept,
      'ledger_uri',
      `${originName(kept)}: answers that later jobs may use need a ledger of their own`,
      'Say where: --ledger FILE, s3://bucket/name or redis://host, or ledger.uri in the job file.',
    );
  }
  checkDistinct(job, context.originOf);
  return job;
}

/** The options of each step, with defaults. @param waterfalls null for a job that names no providers */
function compileOptions(raw: RawJob, waterfalls: Waterfalls | null, ownSteps: readonly StepSpec[]): CompiledJob['options'] {
  const sections: Readonly<Record<StandardStep, Partial<StepOptions>>> = raw;
  const optionsOf = ({ name, usual }: StepSpec, section: Partial<StepOptions>): StepOptions => {
    const { by = usual, minLikelihood = 0, required = [], when = 'always', patienceMs = 0 } = section;
    return { by: waterfalls === null ? by : namesUsed(name, waterfalls), minLikelihood, required: required.toSorted(), when, patienceMs };
  };
  return { ...eachOwnStep(ownSteps, (spec) => optionsOf(spec, {})), ...eachStep((spec) => optionsOf(spec, sections[spec.name])) };
}

/** @throws ConfigError, UsageError where verify looks at a person that enrich has yet to find */
function refuseLaterPerson(raw: RawJob, steps: readonly Step[], { originOf }: CompileContext): void {
  const origin = originOf('verify.when');
  if (origin === null || raw.verify.when !== 'unverified' || steps.indexOf('verify') > steps.indexOf('enrich')) return;
  if (!steps.includes('verify') || !steps.includes('enrich')) return;
  throw refusal(
    origin,
    'bad_value',
    `${originName(origin)} is unverified, and enrich is done after verify`,
    'Put enrich before verify in steps, or leave verify.when out.',
  );
}

type JobSteps = Pick<CompiledJob, 'steps' | 'ownSteps'>;

function compileInput(raw: RawJob, context: CompileContext): readonly string[] {
  const { uri } = raw.input;
  if (uri === undefined) throw missing('no_input', 'input.uri', '--input FILE', context);
  const uris = (typeof uri === 'string' ? [uri] : uri).map((one) => context.expand(one, 'input.uri'));
  const origin = context.originOf('input.uri');
  if (origin !== null && new Set(uris).size < uris.length) {
    throw refusal(origin, 'same_file', `${originName(origin)} names the same input twice`, 'Each record is read once: keep one of them.');
  }
  return uris;
}

function compileWhere(
  where: RawJob['input']['where'],
  { steps, ownSteps }: JobSteps,
  { originOf }: CompileContext,
): CompiledJob['input']['where'] {
  if (typeof where !== 'string') return compileConditions(where);
  return compileWritten(where, { name: 'input.where', origin: originOf('input.where'), steps, ownSteps, step: null });
}

function compileStepConditions(
  { steps, ownSteps }: JobSteps,
  rules: ReturnType<typeof readSteps>['rules'],
  { originOf }: CompileContext,
): CompiledJob['conditions'] {
  const origin = originOf('steps');
  return Object.fromEntries(
    steps.flatMap((step) => {
      const text = rules[step]?.when;
      return text === undefined ? [] : [[step, compileWritten(text, { name: `${step}.when`, origin, steps, ownSteps, step })]];
    }),
  );
}

/** The providers that a job names, or its one service as a provider. */
function compileWhomToAsk(
  raw: RawJob,
  written: WrittenSteps,
  context: CompileContext,
): Pick<CompiledJob, 'namesProviders' | 'providers' | 'ownSteps' | 'waterfalls'> {
  const { originOf, warnings, sources } = context;
  const expandQuota = (uri: string, path: string): string => {
    const origin = originOf(path);
    return origin === null ? uri : expandRedisUri(uri, path, origin, { ...runDay(sources.date, sources.now), env: sources.env });
  };
  if (Object.keys(raw.providers).length > 0) {
    refuseService(originOf, context.paths);
    const definitions = sources.definitions ?? new Map();
    return { namesProviders: true, ...compileProviders(raw, written, { definitions, originOf, warnings, expandQuota }) };
  }
  const { names: steps, rules } = written;
  checkSteps(steps, [], originOf('steps'));
  for (const step of steps) checkKeys({ step, steps, ownSteps: [] }, namesChosen(step, raw) ?? [], context);
  refuseRules(rules, context);
  const service = compileService(raw, originOf, warnings);
  const quota = service.quota === null ? null : expandQuota(service.quota, 'service.quota');
  return { namesProviders: false, providers: [{ ...service, quota }], ownSteps: [], waterfalls: serviceWaterfalls(steps, raw) };
}

function compileName(raw: RawJob, output: string, context: CompileContext): string {
  if (raw.name !== undefined) return raw.name;
  const derived = context.sources.file?.name ?? (output === '-' ? 'stdout' : bareName(output));
  if (jobSchema.shape.name.safeParse(derived).success) return derived;
  throw new ConfigError('bad_name', `The job needs a name: ${show(derived)} cannot be one`, {
    hint: 'Give a shorter, printable one: --name NAME.',
  });
}

/** The default interval is longer in S3, because requests are slower than a disk and cost money. */
function compileCheckpoint(raw: RawJob, output: string, context: CompileContext): CompiledJob['checkpoint'] {
  const uri = compileStateUri(raw.checkpoint.uri, 'checkpoint', output, context);
  const inS3 = isS3Uri(uri) || isS3Uri(output);
  return { uri, everyMs: raw.checkpoint.everyMs ?? (inS3 ? EVERY_MS.s3 : EVERY_MS.disk) };
}

/** The default lies beside the output. Standard output has neither checkpoint nor ledger by default: the result is ''. */
function compileStateUri(uri: string | null, kind: 'checkpoint' | 'ledger', output: string, context: CompileContext): string {
  if (uri === null) return output === '-' ? '' : `${output}${kind === 'checkpoint' ? CHECKPOINT_SUFFIX : '.ledger'}`;
  const origin = context.originOf(`${kind}.uri`);
  if (output === '-' && kind === 'checkpoint' && origin !== null) {
    throw refusal(
      origin,
      'no_checkpoint',
      `${originName(origin)}: rows that go to standard output have no checkpoint`,
      'Leave it out, or write to a file.',
    );
  }
  return context.expand(uri, `${kind}.uri`);
}

/** Warns of a ledger that no run uses again: a job with standard output never resumes. */
function warnOfUnkeptLedger({ uri, maxAgeDays }: RawJob['ledger'], output: string, context: CompileContext): void {
  if (output === '-' && uri !== null && maxAgeDays === 0 && !isShared(uri))
    context.warnings.push(
      'ledger.uri: what a run to standard output has paid for is kept for later ones only with ledger.maxAgeDays: --ledger.maxAgeDays 90',
    );
}

/** @throws UsageError, ConfigError for a URL that cannot be posted to. The URL may be a secret, so no message shows it. */
function compileNotification(
  { url, format }: RawJob['onFinish'],
  section: 'onFinish' | 'onTrouble',
  context: CompileContext,
): CompiledJob['onFinish'] {
  if (url === null) return null;
  const notification = notificationOf(context.expand(url, `${section}.url`), format);
  const origin = context.originOf(`${section}.url`);
  if (notification === null && origin !== null)
    throw refusal(
      origin,
      'bad_value',
      `${originName(origin)} is no http or https URL`,
      'Write https://host/path, or {env:NAME} for a secret URL.',
    );
  return notification;
}

function compileMaxErrors(value: number | string): CompiledJob['limits']['maxErrors'] {
  return typeof value === 'number' ? { count: value } : { share: shareOf(value) };
}

/** `40%` as 0.4. Parsed as hundredths, because 0.7 / 100 is less than 0.007. */
function shareOf(percent: string): number {
  return Number(`${percent.slice(0, -1)}e-2`);
}

function withoutUndefined(columns: RawJob['input']['columns']): CompiledJob['input']['columns'] {
  return Object.fromEntries(Object.entries(columns).filter(([, name]) => name !== undefined));
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
