/** Chooses the column of each key: by its name, and by the values of the first records. Pure. */
import { columnsNamed, findKeyColumns, KEY_COLUMNS, type ConfiguredColumns, type NamedColumn } from '../formats/header-aliases.ts';
import { readName, wordsOfName } from '../formats/column-names.ts';
import { OTHER_PAGE_WORDS, OWN_PEOPLE_WORDS } from '../formats/column-words.ts';
import type { KeyColumn, KeyNames, PersonColumn } from '../formats/input-record.ts';
import { formOf, type ColumnSample, type ColumnSamples, type Form } from './column-samples.ts';

type Column = KeyColumn | PersonColumn;

const FORMS: Readonly<Partial<Record<Column, Form>>> = { email: 'address', domain: 'domain', linkedin_url: 'profile', phone: 'phone' };

/** A column whose name says nothing has the form in more than this share of its cells. */
const MOST = 0.5;
/** A column with a better name is used, unless another one has over a tenth more keys. */
const MUCH_FULLER = 1.1;
/** A column whose name is not on the list of aliases has the form in more than this share of its cells. */
const LEAST_READ = 0.1;
/** Domains that are nearly all the same are those of one's own pages, such as links into a CRM. */
const FEWEST_DIFFERENT = 0.1;
/** Numbers are recognised by their values only where nearly all have their country. */
const INTERNATIONAL = /^['"=]*(?:\+|00)/;

/**
 * The column of each key in a header. A configured one comes first; null where this header lacks it. Else the fuller one of the columns
 * whose names mean the key; else a column most of whose cells have the form of the key.
 * @param samples the first records; empty where the file has none @param wanted the columns of a person that the job uses
 */
export function chooseColumns(
  header: readonly string[],
  samples: ColumnSamples,
  configured: ConfiguredColumns,
  wanted: readonly PersonColumn[] = [],
): KeyNames {
  const byName = findKeyColumns(header, configured, true, wanted);
  const taken = new Set<string>();
  const choose = (key: Column): string | null => {
    const own = configured[key] === undefined ? null : (byName[key] ?? null);
    const found =
      configured[key] !== undefined
        ? own
        : choice(
            key,
            header.filter((name) => !taken.has(name)),
            samples,
          );
    if (found === null || !header.includes(found)) return null;
    taken.add(found);
    return found;
  };
  const all = [...KEY_COLUMNS, ...wanted];
  // A column that the job names is no other key's.
  const keys = new Map(all.filter((key) => configured[key] !== undefined).map((key) => [key, choose(key)]));
  return Object.fromEntries(all.map((key) => [key, keys.has(key) ? keys.get(key) : choose(key)])) as unknown as KeyNames;
}

function choice(key: Column, header: readonly string[], samples: ColumnSamples): string | null {
  const named = columnsNamed(key, header);
  const usable = named.filter(({ name, isListed }) => isUsable(key, samples.get(name), isListed));
  return fullest(key, usable, samples) ?? byValues(key, header, samples) ?? named.find(({ isListed }) => isListed)?.name ?? null;
}

/** Whether a column with the right name has keys, as far as its first cells say. */
function isUsable(key: Column, sample: ColumnSample | undefined, isListed: boolean): boolean {
  const form = FORMS[key];
  if (sample === undefined || sample.filled === 0 || form === undefined) return true;
  const { filled, cells } = sample;
  return isListed ? cells[form] > 0 : cells[form] > filled * LEAST_READ && (form !== 'domain' || isVaried(sample));
}

/** The best name; another column where it has many more keys. */
function fullest(key: Column, named: readonly NamedColumn[], samples: ColumnSamples): string | null {
  const keysIn = (name: string): number => {
    const [form, sample] = [FORMS[key], samples.get(name)];
    return sample === undefined ? 0 : form === undefined ? sample.values : sample.different[form];
  };
  const [first, ...others] = named.map(({ name }) => ({ name, keys: keysIn(name) }));
  if (first === undefined) return null;
  return others.reduce((best, other) => (other.keys > best.keys * MUCH_FULLER ? other : best), first).name;
}

/** Among the columns that mostly hold keys, the one with the most different ones. */
function byValues(key: Column, header: readonly string[], samples: ColumnSamples): string | null {
  const form = FORMS[key];
  if (form === undefined) return null;
  const barred = form === 'address' ? OWN_PEOPLE : form === 'domain' ? OTHER_PAGES : form === 'phone' ? NO_PHONES : NONE;
  let best: { readonly name: string; readonly keys: number } | null = null;
  for (const name of header) {
    const sample = samples.get(name);
    if (sample === undefined || !isMostly(form, sample) || wordsOfName(name).some((word) => barred.has(word))) continue;
    // Its name means another key, or is itself a value: the header may be missing.
    if (readName(name) !== null || formOf(name)?.[0] === form) continue;
    if (form === 'domain' && !isVaried(sample)) continue;
    if (form === 'phone' && !sample.examples.every((value) => INTERNATIONAL.test(value))) continue;
    if (best === null || sample.different[form] > best.keys) best = { name, keys: sample.different[form] };
  }
  return best?.name ?? null;
}

function isMostly(form: Form, sample: ColumnSample | undefined): boolean {
  return sample !== undefined && sample.cells[form] > sample.filled * MOST;
}

function isVaried({ cells, different }: ColumnSample): boolean {
  return different.domain > cells.domain * FEWEST_DIFFERENT;
}

const NONE: ReadonlySet<string> = new Set();
const OWN_PEOPLE: ReadonlySet<string> = new Set(OWN_PEOPLE_WORDS);
const OTHER_PAGES: ReadonlySet<string> = new Set(OTHER_PAGE_WORDS);
const NO_PHONES: ReadonlySet<string> = new Set(['fax', 'telefax', 'faxnummer', ...OWN_PEOPLE_WORDS]);

/** Columns that look like addresses and hold no key of the job, in the order of the header. */
export function unusedAddresses(header: readonly string[], samples: ColumnSamples, keys: KeyNames): readonly string[] {
  const used = new Set(Object.values(keys));
  return header.filter((name) => !used.has(name) && isMostly('address', samples.get(name)));
}
