/** What of a definition must stay the same between a start and its resumes. */
import { withoutSecret } from '../../redis/uri.ts';
import { absolutePlace, isSamePlace } from '../same-place.ts';
import type { CompiledJob } from '../types.ts';
import { show } from './origin.ts';

/** `input.uri` before expansion: tells yesterday's `{date}` from another input. */
export const WRITTEN_INPUT = 'input.uri as written';

/**
 * The definition by dotted key, without what may change on resume: plan, rpm, concurrency, timeout and limits.
 * Values are after defaults and expansion, so a default that is now written out is no change. Paths are absolute: the next run may
 * be started in another folder.
 */
export function fingerprintOf(job: Omit<CompiledJob, 'fingerprint'>, writtenInput: unknown): Record<string, unknown> {
  return {
    name: job.name,
    'input.uri': job.input.uris.map(absolutePlace),
    [WRITTEN_INPUT]: [writtenInput].flat().map((uri) => (typeof uri === 'string' ? absolutePlace(uri) : uri)),
    'input.format': job.input.format,
    'input.delimiter': job.input.delimiter,
    'input.encoding': job.input.encoding,
    'input.columns.email': job.input.columns.email ?? null,
    'input.columns.domain': job.input.columns.domain ?? null,
    'input.columns.linkedin_url': job.input.columns.linkedin_url ?? null,
    'input.ifMissing': job.input.ifMissing,
    steps: job.steps,
    'service.baseUrl': job.service.baseUrl,
    'service.embedded': job.service.embedded,
    'service.fields.domain': job.service.domainField,
    'verify.when': job.verify.when,
    'verify.patienceMs': job.verify.patienceMs,
    'output.uri': absolutePlace(job.output.uri),
    'output.format': job.output.format,
    'output.compression': job.output.compression,
    'output.fields': job.output.fields,
    'output.escapeFormulas': job.output.escapeFormulas,
    'checkpoint.uri': absolutePlace(job.checkpoint.uri),
    'checkpoint.everyMs': job.checkpoint.everyMs,
    'ledger.uri': absolutePlace(withoutSecret(job.ledger.uri)),
    'ledger.maxAgeDays': job.ledger.maxAgeDays,
  };
}

/**
 * The first key whose value is another now, with both values: `input.uri was ["a.csv"] and is now ["b.csv"]`; null
 * where nothing changed. `frozen` may come from a checkpoint, that is from JSON.
 */
export function describeDifference(frozen: Record<string, unknown>, now: Record<string, unknown>): string | null {
  for (const key of new Set([...Object.keys(now), ...Object.keys(frozen)])) {
    if (!isSame(key, frozen[key], now[key])) {
      return `${key} was ${show(frozen[key])} and is now ${show(now[key])}`;
    }
  }
  return null;
}

/** Keys that name files. */
const PLACES: readonly string[] = ['input.uri', 'output.uri', 'checkpoint.uri', 'ledger.uri'];

/** `./leads.csv` is `leads.csv`, and so is its absolute path. Globs too: what they match is a matter of the input. */
function isSame(key: string, before: unknown, now: unknown): boolean {
  // As text, because the order of lists and of output columns is part of what was asked for.
  if (JSON.stringify(before) === JSON.stringify(now)) return true;
  if (!PLACES.includes(key)) return false;
  if (Array.isArray(before) && Array.isArray(now)) return before.length === now.length && before.every((one, index) => isSame(key, one, now[index]));
  return typeof before === 'string' && typeof now === 'string' && isSamePlace(before, now);
}
