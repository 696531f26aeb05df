/** The value that somebody probably meant, where a key takes few words or known names. Pure. */
import { ENCODING_LABELS } from '../../reader/encoding.ts';
import type { Key } from './keys.ts';
import { nearest } from './nearest.ts';
import { PERIODS } from './schema.ts';

/** Null when nothing known is near, or the value's word is one that the key takes. */
export function valueMeant({ path, words }: Pick<Key, 'path' | 'words'>, value: unknown): string | null {
  if (path === 'service.windows') return windowMeant(value);
  const known = path === 'input.encoding' ? ENCODING_LABELS : words;
  return typeof value === 'string' && !known.includes(value) ? nearest(value, known) : null;
}

/** Of the first window whose period is misspelt: `50/secnd`, or `{limit: 50, per: secnd}`. */
function windowMeant(value: unknown): string | null {
  for (const window of Array.isArray(value) ? value : [value]) {
    const [limit, per] = typeof window === 'string' ? window.split('/') : [null, (window as { readonly per?: unknown } | null)?.per];
    if (typeof per !== 'string' || (PERIODS as readonly string[]).includes(per)) continue;
    const period = nearest(per, PERIODS);
    if (period !== null) return limit === null ? period : `${limit}/${period}`;
  }
  return null;
}
