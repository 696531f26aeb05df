/** Lookups as text: the one text that names a lookup, and the input that mappings get from it. Pure. */
import type { EnrichKey, RevealKey } from '../../client/attempt-client.ts';
import { isObject } from '../../util/is-object.ts';

/** The input of a request's mappings, see `ProviderRequest`. */
export type LookupInput = Readonly<Record<string, unknown>>;

/** The options of a job for every person. */
export interface PersonOptions {
  readonly minLikelihood: number;
  readonly required: readonly string[];
}

const KEYS = ['email', 'linkedin_url', 'phone', 'name', 'domain', 'company'] as const;

/**
 * The JSON text of a lookup: the same text for the same key, always. Its hash makes the idempotency key.
 * @param options null for a lookup without them
 */
export function lookupText(key: EnrichKey | RevealKey, options: PersonOptions | null): string {
  const lookup: Record<string, unknown> = {};
  for (const name of KEYS) {
    const value = (key as Readonly<Record<string, string>>)[name];
    if (value !== undefined) lookup[name] = value;
  }
  if (options !== null && options.minLikelihood !== 0) lookup['min_likelihood'] = options.minLikelihood;
  if (options !== null && options.required.length > 0) lookup['required'] = options.required;
  return JSON.stringify(lookup);
}

/** The lookup that a text of `lookupText` names, with the parts of its name. */
export function lookupInput(text: string): LookupInput {
  const lookup = JSON.parse(text) as LookupInput;
  const { name } = lookup;
  return typeof name === 'string' ? { ...lookup, ...partsOfName(name) } : lookup;
}

/** The first word, and the rest. A name of one word has no last name. */
function partsOfName(name: string): { readonly first_name?: string; readonly last_name?: string } {
  const words = name.trim();
  if (words === '') return {};
  const end = words.search(/\s/);
  return end === -1 ? { first_name: words } : { first_name: words.slice(0, end), last_name: words.slice(end).trimStart() };
}

/** The addresses of a text of `verifyBody`. */
export function addressesOf(body: string): readonly string[] {
  const json: unknown = JSON.parse(body);
  const emails = isObject(json) ? json['emails'] : null;
  return Array.isArray(emails) ? emails.filter((email) => typeof email === 'string') : [];
}
