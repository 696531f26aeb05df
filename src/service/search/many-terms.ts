/** Any of many terms, such as all places in a circle: their rows are one set, and a row has one of them or not. */
import { or, type Bits } from './bitmap.ts';
import type { Criterion } from './criteria.ts';
import type { PostingReader } from './posting-reader.ts';

/** Of so many terms it is looked up how many rows have them; the others are taken to be like these. */
const SAMPLE = 32;
/** Each term of a row is looked for among them: rows have some tens, and that is quick. */
const ROW_COST = 16;

/** @param terms each once, at least one */
export function manyTerms(terms: readonly string[], reader: PostingReader): Criterion {
  const ids = new Set(terms.map((term) => reader.numberOf(term)).filter((id) => id !== null));
  const step = Math.ceil(terms.length / SAMPLE);
  const sample = terms.filter((_term, index) => index % step === 0).map((term) => reader.posting(term));
  const ofAll = (of: 'about' | 'blocks'): number => (sample.reduce((sum, posting) => sum + posting[of], 0) * terms.length) / sample.length;
  // Where few rows are left they are never read.
  let rows: ReadonlyMap<number, Bits> | null = null;
  return {
    about: ofAll('about'),
    cost: ids.size + ofAll('blocks'),
    rowCost: ROW_COST,
    addTo(block, into) {
      rows ??= reader.rowsWithAny([...ids].sort((one, other) => one - other));
      const found = rows.get(block);
      if (found !== undefined) or(into, found);
    },
    meets(_row, has) {
      for (let i = 0; i < has.length; i++) if (ids.has(has[i] ?? -1)) return true;
      return false;
    },
  };
}
