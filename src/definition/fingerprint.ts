/** The part of a definition that must stay the same between a start and its resumes. */
import { hash } from 'node:crypto';
import type { CompiledProvider, ProviderPoll } from '../providers/compiled-provider.ts';
import { withoutSecret } from '../redis/uri.ts';
import { PERSON_COLUMNS } from '../formats/header-aliases.ts';
import { absolutePlace, isSamePlace } from '../util/files/same-place.ts';
import { BY_RANK } from '../steps/registry.ts';
import type { CompiledJob } from './compiled-job.ts';
import { show } from './origin.ts';

const IN_DEFINITION = ' in its definition';

/** `input.uri` before expansion, which tells another `{date}` from another input. */
export const WRITTEN_INPUT = 'input.uri as written';

/**
 * The definition by dotted key, without keys that may change on resume: plan, rpm, concurrency, timeout, limits and
 * alerts.
 * Values are after defaults and expansion, so a default that is written out later is no change. Paths are absolute, because the next run
 * may start in another folder.
 */
export function fingerprintOf(job: Omit<CompiledJob, 'fingerprint'>, writtenInput: unknown): Record<string, unknown> {
  return {
    name: job.name,
    'input.uri': job.input.uris.map(absolutePlace),
    [WRITTEN_INPUT]: [writtenInput].flat().map((uri) => (typeof uri === 'string' ? absolutePlace(uri) : uri)),
    'input.format': job.input.format,
    'input.delimiter': job.input.delimiter,
    'input.skipLines': job.input.skipLines,
    'input.header': job.input.header,
    'input.encoding': job.input.encoding,
    'input.columns.email': job.input.columns.email ?? null,
    'input.columns.domain': job.input.columns.domain ?? null,
    'input.columns.linkedin_url': job.input.columns.linkedin_url ?? null,
    ...Object.fromEntries(
      PERSON_COLUMNS.filter((key) => key !== 'country').map((key) => [`input.columns.${key}`, job.input.columns[key] ?? null]),
    ),
    // Older versions do not have these.
    ...(job.input.columns.country === undefined ? {} : { 'input.columns.country': job.input.columns.country }),
    ...(job.input.country === null ? {} : { 'input.country': job.input.country }),
    'input.ifMissing': job.input.ifMissing,
    'input.where': textOf(job.input.where),
    steps: job.steps,
    ...Object.fromEntries(Object.entries(job.conditions).map(([step, { text }]) => [`steps.${step}.when`, text])),
    ...(job.namesProviders ? namedProviders(job) : theOneService(job)),
    ...optionsOf(job),
    'output.uri': absolutePlace(job.output.uri),
    'output.format': job.output.format,
    'output.compression': job.output.compression,
    'output.fields': job.output.fields,
    'output.escapeFormulas': job.output.escapeFormulas,
    'output.delimiter': job.output.delimiter,
    // Before it could be the input's, it was false where a job did not say.
    'output.bom': job.output.bom ?? false,
    'output.lineEnds': job.output.lineEnds,
    'output.split': job.output.split,
    'output.marker': job.output.marker === null ? null : absolutePlace(job.output.marker),
    'checkpoint.uri': absolutePlace(job.checkpoint.uri),
    'checkpoint.everyMs': job.checkpoint.everyMs,
    'ledger.uri': absolutePlace(withoutSecret(job.ledger.uri)),
    'ledger.maxAgeDays': job.ledger.maxAgeDays,
  };
}

/** A condition by its text: how it is read may change. */
function textOf(where: CompiledJob['input']['where']): unknown {
  return where !== null && typeof where['text'] === 'string' ? where['text'] : where;
}

function optionsOf({ options }: Pick<CompiledJob, 'options'>): Record<string, unknown> {
  return Object.fromEntries(
    BY_RANK.flatMap(({ name, options: own, lateOptions = [], usual }) =>
      own
        .filter((key) => !lateOptions.includes(key) || !['', usual.join()].includes(options[name].by.join()))
        .map((key) => [`${name}.${key}`, options[name][key]]),
    ),
  );
}

function theOneService({ providers: [service] }: Pick<CompiledJob, 'providers'>): Record<string, unknown> {
  return {
    'service.baseUrl': service?.baseUrl ?? null,
    'service.embedded': service?.embedded ?? false,
    'service.fields.domain': service?.domainField ?? 'domain',
  };
}

/** The settings that decide the answers. Pace, limits and `onUnavailable` may change. */
function namedProviders({ providers, waterfalls }: Pick<CompiledJob, 'providers' | 'waterfalls'>): Record<string, unknown> {
  return Object.fromEntries([
    ...providers.flatMap(({ name, definition, baseUrl, embedded, domainField }) => [
      [`providers.${name}.use`, definition.name],
      [`providers.${name}.baseUrl`, baseUrl],
      [`providers.${name}.embedded`, embedded],
      ...(domainField === 'domain' ? [] : [[`providers.${name}.fields.domain`, domainField]]),
      ...Object.keys(definition.operations).map((step) => [`providers.${name}, ${step}${IN_DEFINITION}`, digestOf(definition, step)]),
    ]),
    ...Object.entries(waterfalls).flatMap(([step, { from, until, fields, keys }]) => [
      [`steps.${step}.from`, from],
      [`steps.${step}.until`, until],
      [`steps.${step}.fields`, fields],
      [`steps.${step}: keys`, keys],
    ]),
    ...Object.entries(theOneService({ providers: [] })),
  ]);
}

/** Credits, quotas and the times of polls decide no answer; the names of the fields are in the record's mapping. */
function digestOf({ client, headers, operations }: CompiledProvider, step: string): string {
  const asked = [operations[step]]
    .flatMap((one) => one ?? [])
    .map(({ quota: _quota, credits: _credits, creditsAtMost: _most, creditsAt: _at, fields: _fields, batch, poll, ...own }) => ({
      ...own,
      batch: batch && { ...batch, credits: null, quota: null, ...(batch.poll === undefined ? {} : { poll: pollOf(batch.poll) }) },
      poll: poll && pollOf(poll),
    }));
  return hash('sha256', JSON.stringify([client, headers, asked]), 'hex').slice(0, 16);
}

function pollOf({ ticket, request, next }: ProviderPoll): object {
  return { ticket, request, ...(next === null ? {} : { next }) };
}

/**
 * The first key whose value differs, with both values: `input.uri was ["a.csv"] and is now ["b.csv"]`. Null when nothing changed.
 * @param frozen may come from a checkpoint, that is from JSON
 */
export function describeDifference(frozen: Record<string, unknown>, now: Record<string, unknown>): string | null {
  for (const key of new Set([...Object.keys(now), ...Object.keys(frozen)])) {
    if (!POLICY.includes(key) && !isSame(key, frozen[key], now[key])) {
      // A digest says nothing to a reader.
      if (key.endsWith(IN_DEFINITION)) return `${key} has changed: requests, rules, record or columns`;
      return `${key} was ${show(frozen[key])} and is now ${show(now[key])}`;
    }
  }
  return null;
}

/** Keys of checkpoints that may change nevertheless. Older versions compared them. */
const POLICY: readonly string[] = ['input.ifMissing'];

/** Keys that name files. */
const PLACES: readonly string[] = ['input.uri', 'output.uri', 'output.marker', 'checkpoint.uri', 'ledger.uri'];

/** Compares paths by their absolute form: `./leads.csv` equals `leads.csv`. Globs are compared as text, not by their matches. */
function isSame(key: string, before: unknown, now: unknown): boolean {
  // Compared as text, because the order of lists and output columns matters.
  if (JSON.stringify(before) === JSON.stringify(now)) return true;
  if (!PLACES.includes(key)) return false;
  if (Array.isArray(before) && Array.isArray(now))
    return before.length === now.length && before.every((one, index) => isSame(key, one, now[index]));
  return typeof before === 'string' && typeof now === 'string' && isSamePlace(before, now);
}
