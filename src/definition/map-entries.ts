/** Entries of a map that are mappings themselves, such as `providers.pdl`: one flag sets one of their keys, and layers merge. Pure. */
import type { z } from 'zod';
import { isObject } from '../util/is-object.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { show } from './origin.ts';
import { kindOf, unwrapped, type JobKey } from './keys.ts';

/** `pdl.plan` with `pro` becomes `{pdl: {plan: pro}}`; null for an entry without a key of its own. */
export function nestedEntry({ entrySchema }: JobKey, entry: string, text: string): Record<string, unknown> | null {
  const dot = entry.indexOf('.');
  if (entrySchema === null || dot === -1) return null;
  const name = entry.slice(dot + 1);
  const schema = entrySchema.shape[name] as z.ZodType | undefined;
  return { [entry.slice(0, dot)]: { [name]: schema === undefined ? text : fromText(schema, text) } };
}

function fromText(schema: z.ZodType, text: string): unknown {
  if (text === 'null') return null;
  switch (kindOf(unwrapped(schema))) {
    case 'number':
    case 'either':
      return /^-?\d{1,16}$/.test(text) ? Number(text) : text;
    case 'switch':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'list':
      return text.split(',').map((part) => part.trim());
    default:
      return text;
  }
}

/** The value of an entry after a higher layer: mappings are merged key by key. */
export function mergedEntry(lower: unknown, higher: unknown): unknown {
  return isObject(lower) && isObject(higher) ? { ...lower, ...higher } : higher;
}

interface EntryFault {
  /** Dotted path from the root of the job file. */
  readonly path: string;
  /** The problem, after the path. */
  readonly problem: string;
  readonly hint: string;
}

/** The first fault of the entries of such a map; null where the map itself is at fault. */
export function faultOfEntries({ path, entrySchema }: JobKey, value: unknown): EntryFault | null {
  if (entrySchema === null || !isObject(value)) return null;
  for (const [entry, member] of Object.entries(value)) {
    const at = `${path}.${entry}`;
    const keys = Object.keys(entrySchema.shape);
    if (!isObject(member))
      return { path: at, problem: `must be a mapping of settings, got ${show(member)}`, hint: `Its keys: ${keys.join(', ')}.` };
    const unknown = Object.keys(member).find((name) => !keys.includes(name));
    if (unknown !== undefined)
      return {
        path: `${at}.${unknown.slice(0, 100)}`,
        problem: `is no key of a provider${didYouMean(nearest(unknown, keys))}`,
        hint: `Its keys: ${keys.join(', ')}.`,
      };
    for (const [name, schema] of Object.entries(entrySchema.shape) as [string, z.ZodType][])
      if (member[name] !== undefined && !schema.safeParse(member[name]).success)
        return { path: `${at}.${name}`, problem: `cannot be ${show(member[name])}`, hint: schema.description ?? '' };
  }
  return null;
}
