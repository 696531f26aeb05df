/** Compiles the section `providers` of a job, and the rules of the steps that ask them. */
import { present } from '../util/assert.ts';
import type { CompiledProvider } from '../providers/compiled-provider.ts';
import { ConfigError } from '../util/errors.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { PERIODS_MS } from '../util/periods.ts';
import { readCreditPrice } from './credit-price.ts';
import type { JobProvider } from './compiled-job.ts';
import { originName, placeOf, refusal, show, type Origin } from './origin.ts';
import type { RawProvider } from './provider-schema.ts';
import { checkPath } from './result-fields.ts';
import type { RawJob } from './schema.ts';
import { checkUrl } from './service-choice.ts';
import { statedWindows } from './service-schema.ts';
import type { StepRule } from './step-schema.ts';
import type { StepOptions } from './step-options.ts';
import type { Waterfall, Waterfalls } from './waterfall.ts';
import { KEYS, kindOf, kindOfSource, namesOfSources, sourcesNamed, type KeyKind, type KeySource, type ProviderKey } from '../steps/keys.ts';
import { isStandard, kindsOf, specOf, type ByStep, type Step } from '../steps/registry.ts';
import type { StepSpec } from '../steps/step-spec.ts';
import { faultOfKeys } from './found-keys.ts';
import { checkSteps, compileOwnSteps } from './own-steps.ts';

interface ProviderContext {
  /** By the reference that `use` gives, see `definitionOf`. */
  readonly definitions: ReadonlyMap<string, CompiledProvider>;
  readonly originOf: (path: string) => Origin | null;
  readonly warnings: string[];
  /** The address of a shared quota after expansion. @throws ConfigError, UsageError */
  readonly expandQuota: (uri: string, path: string) => string;
}

interface JobProviders {
  readonly providers: readonly JobProvider[];
  readonly ownSteps: readonly StepSpec[];
  readonly waterfalls: Waterfalls;
}

/** The steps of a job, with what it writes beside their names. */
export interface WrittenSteps {
  readonly names: readonly Step[];
  readonly rules: ByStep<StepRule>;
}

/** The definition that a provider of a job uses: a name or a path. */
export function definitionOf(name: string, { use }: { readonly use?: string | undefined }): string {
  return use ?? name;
}

/**
 * The providers that a job names.
 * @throws ConfigError, UsageError for a provider that cannot be used, or that no step uses
 */
export function compileProviders(raw: RawJob, { names: steps, rules }: WrittenSteps, context: ProviderContext): JobProviders {
  const providers = Object.entries(raw.providers).map(([name, written]) => compileProvider(name, written, context));
  const origin = context.originOf('steps');
  checkSteps(steps, providers, origin);
  const asked = new Map(steps.map((step) => [step, providersOf(step, rules[step] ?? null, providers, context)]));
  const ownSteps = compileOwnSteps(steps, (step) => asked.get(step) ?? [], origin);
  const waterfalls: Record<string, Waterfall> = {};
  for (const step of steps) {
    const rule = rules[step] ?? null;
    checkKeys({ step, steps, ownSteps }, namesChosen(step, raw, rule) ?? [], context);
    if (specOf(step).verdicts === null) checkFields(step, rule?.until ?? [], asked.get(step) ?? [], { context, ownSteps });
    waterfalls[step] = compileWaterfall(step, rule, raw, asked.get(step) ?? [], context);
  }
  const used = new Set(Object.values(waterfalls).flatMap(({ from }) => from));
  for (const { name, definition } of providers)
    if (!used.has(name))
      throw refuse(context, `providers.${name}`, 'unused_provider', `providers.${name}: no step asks this provider`, {
        hint: `It can answer ${Object.keys(definition.operations).join(', ')}. Name it in the from of a step, or leave it out.`,
      });
  return { providers, ownSteps, waterfalls };
}

/** Refuses rules of steps in a job with one service. @throws ConfigError, UsageError */
export function refuseRules(rules: ByStep<StepRule>, context: Pick<ProviderContext, 'originOf'>): void {
  // A condition asks nobody.
  const [ruled] = Object.entries(rules).flatMap(([step, { from, until, fields }]) =>
    from === undefined && fields !== 'whole' && isUsual(until, step) ? [] : [step],
  );
  if (ruled !== undefined)
    throw refuse(context, 'steps', 'no_providers', `the step ${ruled} has a rule, and the job names no providers`, {
      hint: 'List them: providers: {millrace: {baseUrl: https://...}, pdl: {use: people-data-labs}}.',
    });
}

/** Whether a rule has the words of `until` that it has where a job does not say. */
function isUsual(until: readonly string[], step: Step): boolean {
  return until.join() === (specOf(step).verdicts?.settling ?? []).join();
}

/** The names of the keys by which a step asks its providers. */
export function namesUsed(step: Step, waterfalls: Waterfalls): readonly string[] {
  const kinds = kindsOf(specOf(step));
  return namesOfSources((waterfalls[step]?.keys ?? []).flat().filter((source) => kinds.includes(kindOfSource(source))));
}

/** @throws ConfigError, UsageError for a key that a step cannot use */
export function checkKeys(
  { step, steps, ownSteps }: { readonly step: Step; readonly steps: readonly Step[]; readonly ownSteps: readonly StepSpec[] },
  names: readonly string[],
  context: Pick<ProviderContext, 'originOf'>,
): void {
  const fault = faultOfKeys(step, names, steps, ownSteps);
  if (fault === null) return;
  const path = isStandard(step) ? `${step}.by` : 'steps';
  const isNamed = context.originOf(path)?.layer !== 'file' && path !== 'steps';
  throw refuse(context, path, 'bad_value', `${isNamed ? '' : `${step}.by: `}${fault.problem}`, fault);
}

function compileProvider(name: string, written: RawProvider, context: ProviderContext): JobProvider {
  const at = `providers.${name}`;
  const definition = present(context.definitions.get(definitionOf(name, written)), `the definition of the provider ${name} was loaded`);
  const { embedded } = written;
  if (embedded && (definition.client !== 'built-in' || written.baseUrl !== undefined))
    throw refuse(context, at, 'bad_value', `${at}: embedded stands for the data service of Millrace, without an address`, {
      hint: 'Leave embedded out, or write {use: millrace, embedded: true}.',
    });
  const baseUrl = embedded ? null : (written.baseUrl ?? definition.baseUrl);
  if (!embedded && baseUrl === null)
    throw refuse(context, at, 'no_service', `${at} has no address: its definition leaves it to the job`, {
      hint: `Write ${at}.baseUrl: https://...${definition.client === 'built-in' ? ', or embedded: true to try it out' : ''}.`,
    });
  return {
    name,
    definition,
    baseUrl: baseUrl === null ? null : checkUrl(baseUrl, context.originOf(at), `${at}.baseUrl`),
    embedded,
    plan: choosePlan(at, written, definition, context),
    windows: compileWindows(written),
    quota: written.quota === null ? null : context.expandQuota(written.quota, at),
    domainField: compileDomainField(at, written, definition, context),
    concurrency: written.concurrency ?? definition.concurrency,
    timeoutMs: written.timeoutMs ?? definition.timeoutMs,
    onUnavailable: written.onUnavailable,
    maxCalls: written.maxCalls,
    maxCredits: written.maxCredits,
    creditPrice: readCreditPrice(written.creditPrice),
  };
}

/** Null: the plan's. */
function compileWindows({ rpm, windows }: RawProvider): JobProvider['windows'] {
  if (rpm === undefined && windows === undefined) return null;
  return [...(rpm === undefined ? [] : [{ limit: rpm, periodMs: PERIODS_MS.minute }]), ...statedWindows(windows ?? [])];
}

function compileDomainField(at: string, { fields }: RawProvider, { client }: CompiledProvider, context: ProviderContext): string {
  if (fields !== undefined && client !== 'built-in')
    throw refuse(context, at, 'bad_value', `${at}.fields is for the definition millrace, whose field for a domain is left open`, {
      hint: 'Write the field in the definition: operations.enrich.request.body.',
    });
  return fields?.domain ?? 'domain';
}

function choosePlan(
  at: string,
  { plan, rpm, windows, embedded }: RawProvider,
  definition: CompiledProvider,
  context: ProviderContext,
): string | null {
  const known = Object.keys(definition.quota.plans);
  const listed = known.length === 0 ? 'Its definition has no plans.' : `It has: ${known.join(', ')}.`;
  if (plan !== undefined) {
    if (known.includes(plan)) return plan;
    throw refuse(context, at, 'bad_value', `${at}.plan: there is no plan ${show(plan)}${didYouMean(nearest(plan, known))}`, {
      hint: listed,
    });
  }
  if (rpm !== undefined || windows !== undefined || known.length === 0) return null;
  if (embedded && known.includes('enterprise')) return 'enterprise';
  if (definition.defaultPlan === null)
    throw refuse(context, at, 'no_plan', `${at} needs a plan, by which its requests are paced`, { hint: `Write ${at}.plan. ${listed}` });
  if (known.length > 1)
    context.warnings.push(`${at}: taking the plan ${definition.defaultPlan} of its definition. Write ${at}.plan to say another one.`);
  return definition.defaultPlan;
}

/** The providers that a step asks, in its order. @throws ConfigError, UsageError for one that is unknown, or that has no such step */
function providersOf(step: Step, rule: StepRule | null, providers: readonly JobProvider[], context: ProviderContext): JobProvider[] {
  const able = providers.filter(({ definition }) => definition.operations[step] !== undefined);
  const from = rule?.from ?? able.map(({ name }) => name);
  if (from.length === 0)
    throw refuse(context, 'steps', 'no_operation', `no provider of this job has the step ${step}`, {
      hint: `They have: ${providers.map(({ name, definition }) => `${name} ${Object.keys(definition.operations).join(', ')}`).join('; ')}.`,
    });
  for (const name of from) {
    const near = didYouMean(
      nearest(
        name,
        providers.map((one) => one.name),
      ),
    );
    if (providers.every((one) => one.name !== name))
      throw refuse(context, 'steps', 'no_provider', `${step}.from: there is no provider ${show(name)}${near}`, {
        hint: `providers has: ${providers.map((one) => one.name).join(', ')}.`,
      });
    if (able.every((one) => one.name !== name))
      throw refuse(context, 'steps', 'no_operation', `${step}.from: the definition of ${name} has no ${step}`, {
        hint: able.length === 0 ? 'No provider of this job has it.' : `These have it: ${able.map((one) => one.name).join(', ')}.`,
      });
  }
  return from.flatMap((name) => able.filter((one) => one.name === name));
}

function compileWaterfall(
  step: Step,
  rule: StepRule | null,
  raw: RawJob,
  asked: readonly JobProvider[],
  context: ProviderContext,
): Waterfall {
  const until = rule?.until ?? [];
  return {
    from: asked.map(({ name }) => name),
    keys: asked.map((provider) => {
      const names = namesChosen(step, raw, rule);
      const keys = keysOf(step, provider, names, rule?.by !== undefined || context.originOf(`${step}.by`) !== null);
      if (keys.length === 0) throw noKey(step, provider.name, provider.definition.operations[step]?.keys ?? [], names ?? [], context);
      return keys;
    }),
    until: until.length === 0 ? (specOf(step).verdicts?.settling ?? []) : until,
    fields: rule?.fields ?? 'merge',
  };
}

function noKey(step: Step, name: string, own: readonly ProviderKey[], chosen: readonly string[], context: ProviderContext): Error {
  const message = `${step}.from: ${name} takes none of the keys in ${step}.by (${chosen.join(', ')}), and so would never be asked`;
  return refuse(context, `${step}.by`, 'bad_value', message, {
    hint: `It takes ${own.join(', ')}. Add one of them, or leave it out of from.`,
  });
}

function checkFields(
  step: Step,
  until: readonly string[],
  providers: readonly JobProvider[],
  { context, ownSteps }: { readonly context: ProviderContext; readonly ownSteps: readonly StepSpec[] },
): void {
  for (const field of until) {
    if (providers.some(({ definition }) => isMapped(definition.operations[step]?.record.text ?? '', field))) continue;
    const { field: found, suggestion } = checkPath(`${step}.${field}`, ownSteps);
    if (found === 'misspelt')
      throw refuse(
        context,
        'steps',
        'bad_value',
        `${step}.until: ${show(field)} is no field of an answer${didYouMean(suggestion?.slice(step.length + 1) ?? null)}`,
        { hint: 'A field that is always empty would have every provider asked.' },
      );
  }
}

/** Whether a record has a field of this name. @param record the expression that a mapping of fields was compiled to */
function isMapped(record: string, field: string): boolean {
  return record.includes(`${JSON.stringify(field.split('.').at(-1))}: `);
}

/** The keys in the provider's own order, unless the job says which keys a step uses. */
function keysOf(step: Step, { definition }: JobProvider, names: readonly string[] | null, isChosen: boolean): readonly KeySource[] {
  const own = kindsTaken(definition, step);
  if (names !== null && isChosen) return sourcesNamed(names, own);
  // For the specification's service a step means the same among providers as it does without.
  return names !== null && definition.client === 'built-in' ? own.filter((kind) => names.includes(KEYS[kind].inJobs)) : own;
}

/** The keys that a provider takes at a step, in its own order. */
export function kindsTaken({ operations }: CompiledProvider, step: Step): readonly KeyKind[] {
  return (operations[step]?.keys ?? []).map(kindOf);
}

/** The keys that a job names for a step, or their default; null for a step without a choice. */
export function namesChosen(step: Step, raw: object, rule: StepRule | null = null): readonly string[] | null {
  const sections = raw as ByStep<Partial<StepOptions>>;
  return rule?.by ?? (isStandard(step) ? sections[step]?.by : null) ?? null;
}

function refuse(
  { originOf }: Pick<ProviderContext, 'originOf'>,
  path: string,
  code: string,
  message: string,
  { hint }: { readonly hint: string },
): Error {
  const origin = originOf(path);
  if (origin === null) return new ConfigError(code, message, { hint });
  const named = origin.layer === 'file' ? message : `${originName(origin)}: ${message}`;
  return origin.layer === 'flag' ? refusal(origin, code, named, hint) : new ConfigError(code, `${named}${placeOf(origin)}`, { hint });
}
