/** Reads the three layers of a definition (file, environment, flags) and checks them key by key. */
import type { z } from 'zod';
import { UsageError, type ConfigError } from '../util/errors.ts';
import { ruleOf } from './step-schema.ts';
import { RUN_FLAGS, SHORT_FLAGS, variableOf } from './flags.ts';
import { KEYS, KEY_BY_FLAG, KEY_BY_PATH, SECTIONS, entryOf, type JobKey } from './keys.ts';
import { keyVariable } from './job-provider.ts';
import { faultOfEntries, mergedEntry, nestedEntry } from './map-entries.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { originName, refusal, show, type Origin } from './origin.ts';
import { isObject } from '../util/is-object.ts';
import { ENCODING_LABELS } from '../formats/encodings/encoding.ts';
import { PERIODS } from './service-schema.ts';
import { STEPS } from '../steps/registry.ts';
import { parseJson } from '../util/parse-json.ts';

export interface Sourced {
  readonly value: unknown;
  readonly origin: Origin;
}

/** By dotted path. An entry of a map has its own path (`output.fields.Job Title`). */
export type Layer = Map<string, Sourced>;

export interface JobFile {
  readonly path: string;
  /** Names the job when no key does; null when the output does. */
  readonly name: string | null;
  readonly value: unknown;
  /** The line (from 1) of each dotted path, if known. */
  readonly lines?: ReadonlyMap<string, number>;
}

export type FlagValue = string | boolean | readonly string[];

/** Names that mean a credential, at any position. */
const SECRET_NAME = /api[-_.]?key|token|secret|passw|authorization|bearer|credential/i;
const KEY_HINT = 'The API key comes from the variable MILLRACE_API_KEY, or from a file that MILLRACE_API_KEY_FILE names.';
/** Characters after which unknown names are cut in messages. */
const MAX_NAME = 100;

/** The layer of the job file. @throws ConfigError for unknown keys, misplaced keys and bad values */
export function fileLayer(file: JobFile): Layer {
  const layer: Layer = new Map();
  const originOf = (key: string): Origin => ({ layer: 'file', path: file.path, key, line: file.lines?.get(key) ?? null });
  const walk = (path: string, value: unknown): void => {
    const section = SECTIONS.get(path);
    if (section === undefined) {
      const key = KEY_BY_PATH.get(path);
      if (key !== undefined) put(layer, key, value, originOf(path), originOf);
      return;
    }
    if (!isObject(value)) {
      const what = path === '' ? 'A job file' : path;
      const message = `${what} must be a mapping of keys, got ${show(value)}`;
      throw refusal(originOf(path), 'bad_value', message, `Its keys: ${section.join(', ')}. Leave it out to take the defaults.`);
    }
    for (const [name, member] of Object.entries(value)) {
      const child = path === '' ? name : `${path}.${name}`;
      if (!section.includes(name)) throw unknownKey(path, name, originOf(child));
      walk(child, member);
    }
  };
  walk('', file.value ?? {});
  return layer;
}

/** The layer of the environment. An empty variable counts as unset. `warnings` gains a suggestion for each misspelt variable. */
export function envLayer(env: NodeJS.ProcessEnv, warnings: string[]): Layer {
  const layer: Layer = new Map();
  for (const key of KEYS) {
    const text = env[key.variable];
    const origin: Origin = { layer: 'env', variable: key.variable };
    if (text !== undefined && text !== '') put(layer, key, fromText(key, text), origin, () => origin);
    const dotted = variableOf(key.path);
    if (dotted !== key.variable && (env[dotted] ?? '') !== '') warnings.push(`${dotted} is ignored: the variable is ${key.variable}`);
    if (key.kind === 'map') putEntriesOfEnvironment(layer, key, env);
  }
  return layer;
}

/** Reads entries of a map: in `MILLRACE_SERVICE_REGIONS_US` the rest of the name, in lower case, is the entry. */
function putEntriesOfEnvironment(layer: Layer, key: JobKey, env: NodeJS.ProcessEnv): void {
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith(`${key.variable}_`) || value === undefined || value === '') continue;
    const entry = variable.slice(key.variable.length + 1).toLowerCase();
    const origin: Origin = { layer: 'env', variable };
    put(layer, key, { [entry]: entryFromText(key, value) }, origin, () => origin);
  }
}

/** The layer of the flags. @throws UsageError for unknown, repeated and valueless flags and for bad values */
export function flagLayer(flags: ReadonlyMap<string, FlagValue>): Layer {
  const layer: Layer = new Map();
  for (const [flag, given] of flags) {
    const origin: Origin = { layer: 'flag', flag };
    const key = KEY_BY_FLAG.get(flag);
    if (key !== undefined) {
      put(layer, key, fromFlag(key, given, origin), origin, () => origin);
      continue;
    }
    const entry = entryOf(flag);
    if (entry === null) throw unknownFlag(flag);
    if (Array.isArray(given)) throw repeated(flag);
    if (typeof given === 'boolean') throw valueless(flag, 'text');
    const nested = nestedEntry(entry.key, entry.entry, String(given));
    put(layer, entry.key, nested ?? { [entry.entry]: entryFromText(entry.key, String(given)) }, origin, () => origin);
  }
  return layer;
}

function fromFlag(key: JobKey, given: FlagValue, origin: Origin): unknown {
  if (typeof given === 'boolean') {
    if (key.kind === 'switch') return given;
    throw valueless(originName(origin).slice(2), key.expected);
  }
  if (typeof given === 'string') return fromText(key, given);
  if (key.kind !== 'list') throw repeated(key.flag);
  return given.flatMap((text) => (key.split === ',' ? text.split(',').map((part) => part.trim()) : [text]));
}

/** Converts a text to the type of its key. A text that cannot be converted stays, and the schema refuses it. */
function fromText(key: JobKey, text: string): unknown {
  if (key.nullable && text === 'null') return null;
  switch (key.kind) {
    case 'number':
    case 'either':
      return /^-?\d{1,16}$/.test(text) ? Number(text) : text;
    case 'switch':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'list':
      return key.split === null
        ? [text]
        : text
            .split(key.split)
            .map((part) => part.trim())
            .filter((part) => part !== '' || key.split === ',');
    case 'map':
      return parseJson(text, text);
    case 'text':
      return text;
    default:
      return key.kind satisfies never;
  }
}

/** Converts the text of one entry of a map. A list or an object may be written as JSON. */
function entryFromText({ hasJsonEntries }: JobKey, text: string): unknown {
  return hasJsonEntries && /^\s*[[{]/.test(text) ? parseJson(text, text) : text;
}

/** Checks one value and adds it. A map adds its entries one by one, so that a higher layer can replace one of them. */
function put(layer: Layer, key: JobKey, value: unknown, origin: Origin, originOf: (path: string) => Origin): void {
  const result = key.schema.safeParse(value);
  // A JavaScript object drops an entry of this name silently, so it is refused here.
  const hidden = key.kind === 'map' && typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__');
  if (!result.success || value === undefined || hidden) {
    if (key.path === 'steps') refuseUnknownSteps(value, origin);
    refuseEntries(key, value, origin, originOf);
    throw refusal(
      origin,
      'bad_value',
      `${originName(origin)} must be ${key.expected}, got ${show(value)}${didYouMean(valueMeant(key, value))}`,
      hintFor(key, value, origin),
    );
  }
  if (key.kind !== 'map' || value === null || typeof value === 'string') {
    layer.set(key.path, { value: result.data, origin });
    return;
  }
  for (const [entry, member] of Object.entries(value)) {
    const path = `${key.path}.${entry}`;
    const before = key.entrySchema === null ? undefined : layer.get(path)?.value;
    layer.set(path, { value: mergedEntry(before, member), origin: originOf(path) });
  }
}

/** @throws ConfigError, UsageError for the first setting that an entry cannot have */
function refuseEntries(key: JobKey, value: unknown, origin: Origin, originOf: (path: string) => Origin): void {
  const fault = faultOfEntries(key, value);
  if (fault === null) return;
  const { path, problem, hint } = fault;
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (SECRET_NAME.test(name)) {
    const [, provider = 'NAME'] = path.split('.');
    const variable = keyVariable(provider);
    throw refusal(
      originOf(path),
      'key_in_job',
      `${path} does not belong in a job`,
      `The API key comes from ${variable}, or from a file that ${variable}_FILE names.`,
    );
  }
  const at = origin.layer === 'file' ? path : `${originName(origin)}: ${path}`;
  throw refusal(origin.layer === 'file' ? originOf(path) : origin, 'bad_value', `${at} ${problem}`, hint);
}

function hintFor(key: JobKey, value: unknown, origin: Origin): string {
  if (origin.layer === 'file' && key.kind === 'text' && typeof value === 'number') return 'Put it in quotes to make it text.';
  return key.description;
}

/** @throws ConfigError, UsageError for the first step that does not exist, or whose rule cannot be read */
function refuseUnknownSteps(value: unknown, origin: Origin): void {
  for (const step of Array.isArray(value) ? value : [value]) {
    const written = isObject(step) ? Object.keys(step)[0] : step;
    const known = typeof written === 'string' && ruleOf(written) === null ? nearest(written, STEPS) : null;
    if (known !== null && known !== written)
      throw refusal(origin, 'bad_value', `${originName(origin)}: there is no step ${show(written)}; did you mean ${known}?`);
    if (typeof written === 'string' && ruleOf(written) === null && !STEPS.some((one) => one === written))
      throw refusal(
        origin,
        'bad_value',
        `${originName(origin)}: ${show(written)} cannot be a step`,
        'A step has lower-case letters, digits and _: enrich, or the name of an operation in the definition of a provider.',
      );
    if (isObject(step)) refuseRule(step, origin);
  }
}

function refuseRule(step: Readonly<Record<string, unknown>>, origin: Origin): void {
  const refuse = (problem: string, hint: string): Error => refusal(origin, 'bad_value', `${originName(origin)}: ${problem}`, hint);
  const [name = '', ...more] = Object.keys(step);
  if (more.length > 0)
    throw refuse(`each step is an entry of its own, got ${show(step)}`, `Write - ${name}: {...} and - ${more[0]}: {...}`);
  const schema = ruleOf(name);
  const rule = step[name];
  if (schema === null) return;
  const keys = Object.keys(schema.shape);
  if (!isObject(rule))
    throw refuse(`${name} must be a mapping of ${keys.join(', ')}, got ${show(rule)}`, `Or write the word alone: - ${name}`);
  for (const [key, value] of Object.entries(rule)) {
    const member = (schema.shape as Readonly<Record<string, z.ZodType>>)[key];
    if (member === undefined && key === 'by')
      throw refuse(
        `${name}.by is a key of the job, and not of its steps`,
        KEY_BY_PATH.has(`${name}.by`) ? `Write ${name}: {by: [...]} beside steps.` : `${name} has one kind of key.`,
      );
    if (member === undefined)
      throw refuse(`${name} has no key ${cut(key)}${didYouMean(nearest(key, keys))}`, `Its keys: ${keys.join(', ')}.`);
    if (!member.safeParse(value).success) throw refuse(`${name}.${key} cannot be ${show(value)}`, member.description ?? '');
  }
}

function unknownKey(section: string, name: string, origin: Origin): ConfigError | UsageError {
  const path = originName(origin);
  if (SECRET_NAME.test(name)) return refusal(origin, 'key_in_job', `${cut(path)} does not belong in a job file`, KEY_HINT);
  if (KEY_BY_PATH.has(name))
    return refusal(
      origin,
      'unknown_key',
      `There is no key ${show(name)} with a dot`,
      `Write it nested: ${name.replaceAll('.', ': {')}: ...}`,
    );
  const siblings = SECTIONS.get(section) ?? [];
  const sibling = nearest(name, siblings);
  const elsewhere = KEYS.find((key) => key.path.slice(key.path.lastIndexOf('.') + 1) === name || key.flag === name)?.path ?? null;
  const suggestion =
    elsewhere ?? (sibling === null ? nearest(path, KEY_BY_PATH.keys()) : section === '' ? sibling : `${section}.${sibling}`);
  const message = `There is no key ${cut(path)}${didYouMean(suggestion)}`;
  return refusal(origin, 'unknown_key', message, `Keys ${section === '' ? 'of a job' : `under ${section}`}: ${siblings.join(', ')}.`);
}

/** The error for an unknown flag, with a suggestion. @param known the flags to suggest from */
export function unknownFlag(flag: string, known: Iterable<string> = [...KEY_BY_FLAG.keys(), ...RUN_FLAGS]): UsageError {
  const short = SHORT_FLAGS[flag];
  if (short !== undefined) return new UsageError('unknown_flag', `--${flag} is written --${short}`, { hint: `Write --${short} instead.` });
  if (SECRET_NAME.test(flag)) return new UsageError('key_in_job', `There is no flag --${cut(flag)}`, { hint: KEY_HINT });
  const suggestion = nearest(flag, known);
  return new UsageError('unknown_flag', `There is no flag --${cut(flag)}${didYouMean(suggestion === null ? null : `--${suggestion}`)}`, {
    hint: 'The --help of each command lists its flags; docs/configuration.md lists all of them.',
  });
}

export function repeated(flag: string): UsageError {
  return new UsageError('repeated_flag', `--${flag} is given more than once`, { hint: 'It takes one value: keep one of them.' });
}

export function valueless(flag: string, expected: string): UsageError {
  return new UsageError('missing_value', `--${flag} needs a value: ${expected}`, {
    hint: `Write --${flag} VALUE, or --${flag}=VALUE where it begins with a dash.`,
  });
}

function cut(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
}

/** A suggestion for a key that takes few words or known names. Null when no known value is near, or the value is permitted already. */
function valueMeant({ path, words }: Pick<JobKey, 'path' | 'words'>, value: unknown): string | null {
  if (path === 'service.windows') return windowMeant(value);
  const known = path === 'input.encoding' ? ENCODING_LABELS : words;
  return typeof value === 'string' && !known.includes(value) ? nearest(value, known) : null;
}

/** Suggests the period of the first window that misspells it: `50/secnd`, or `{limit: 50, per: secnd}`. */
function windowMeant(value: unknown): string | null {
  for (const window of Array.isArray(value) ? value : [value]) {
    const [limit, per] = typeof window === 'string' ? window.split('/') : [null, (window as { readonly per?: unknown } | null)?.per];
    if (typeof per !== 'string' || (PERIODS as readonly string[]).includes(per)) continue;
    const period = nearest(per, PERIODS);
    if (period !== null) return limit === null ? period : `${limit}/${period}`;
  }
  return null;
}
