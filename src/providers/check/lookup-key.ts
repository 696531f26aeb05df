/** Keys of a call as a person types them. Pure. */
import { partsOf, type ProviderKey } from '../../steps/keys.ts';
import type { OperationName, ProviderOperation } from '../compiled-provider.ts';
import { UsageError } from '../../util/errors.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { show } from '../../util/show.ts';
import type { Lookup } from './answers-file.ts';

const NAMES = ['email', 'linkedin_url', 'phone', 'name', 'first_name', 'last_name', 'domain', 'company'] as const;
const HINT = "Such as jane@example.com, example.com, or 'name=Jane Roe,domain=example.com'.";

/**
 * `jane@example.com`, `example.com`, `linkedin.com/in/jane`, `+12125550100`, or `name=Jane Roe,domain=example.com`.
 * @throws UsageError for a text that is none of these
 */
export function lookupOf(text: string): Lookup {
  const key = text.trim();
  const isPairs = /^\w+=/.test(key);
  if (isPairs) return pairsOf(key);
  if (/(?:^|\.|\/)linkedin\.com\/./i.test(key)) return { linkedin_url: key };
  if (/^[^\s@]+@[^\s@]+$/.test(key)) return { email: key };
  if (/^\+[\d ()-]{6,}$/.test(key)) return { phone: key };
  if (/^[^\s/:@]+\.[^\s/:@]+$/.test(key)) return { domain: key };
  throw new UsageError('bad_key', `${show(key)} is no key to look up`, { hint: HINT });
}

function pairsOf(text: string): Lookup {
  const lookup: Record<string, string> = {};
  for (const pair of text.split(/,(?=\s*\w+=)/)) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    const value = pair.slice(at + 1).trim();
    const known = NAMES.find((one) => one === name);
    if (known === undefined)
      throw new UsageError('bad_key', `There is no key ${show(name)}${didYouMean(nearest(name, NAMES))}`, {
        hint: `Keys: ${NAMES.join(', ')}.`,
      });
    if (value === '') throw new UsageError('bad_key', `${name} has no value`, { hint: HINT });
    lookup[known] = value;
  }
  return lookup;
}

/** Whether a lookup has what a key needs. */
function has(lookup: Lookup, key: ProviderKey): boolean {
  return partsOf(key).every((parts) => parts.some((part) => lookup[part] !== undefined));
}

/** The first operation that takes the lookup. @throws UsageError when none does */
export function operationFor(lookup: Lookup, operations: readonly ProviderOperation[]): OperationName {
  const found = operations.find(({ keys }) => keys.some((key) => has(lookup, key)));
  if (found !== undefined) return found.name;
  const taken = operations.map(({ name, keys }) => `${name} takes ${keys.join(', ')}`).join('; ');
  throw new UsageError('bad_key', `No operation takes ${Object.keys(lookup).join(' and ')}`, {
    hint: `${taken}. Pairs: 'name=Jane Roe,domain=example.com'.`,
  });
}
