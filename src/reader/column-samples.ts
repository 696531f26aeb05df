/** Samples the columns of an input: how many addresses, domains, profiles and numbers its first records have in each. */
import { MAX_COLUMNS } from '../formats/limits.ts';
import { readRecords } from '../formats/read-records.ts';
import { parseObject } from '../formats/jsonl/jsonl-records.ts';
import { keyText } from '../formats/jsonl/key-text.ts';
import type { InputFile, InputManifest, InputRecord } from '../formats/input-record.ts';
import { addressIn } from '../verification/clean-keys.ts';
import { companyDomainIn } from '../verification/company-domain.ts';
import { profileKey } from '../verification/profile-url.ts';
import { isReserved } from '../verification/reserved.ts';
import { suffixOf } from '../verification/registrable.ts';
import { InputError } from '../util/errors.ts';

/** Records from which columns are judged, and files that are read for them. */
const SAMPLE = { records: 1_000, files: 16 } as const;
/** Values that are shown of a column, and how much of each is held. */
const EXAMPLES = { values: 3, chars: 200 } as const;
/** Longer cells hold text and no key. */
const LONGEST_KEY = 1_024;

/** The forms by which a column is recognised. */
export type Form = 'address' | 'domain' | 'profile' | 'phone';

/** One column in the first records. */
export interface ColumnSample {
  /** Cells that are not blank. */
  readonly filled: number;
  /** Cells of each form, and how many different ones. */
  readonly cells: Readonly<Record<Form, number>>;
  readonly different: Readonly<Record<Form, number>>;
  /** Different values of any form. */
  readonly values: number;
  readonly examples: readonly string[];
}

/** By column. */
export type ColumnSamples = ReadonlyMap<string, ColumnSample>;

/**
 * The first 1,000 records of files with the same columns, as far as they can be read. Deterministic: the same files give the same samples.
 * @param columns empty for all members of JSON lines
 * @throws as reading does
 */
export async function sampleColumns(
  format: InputManifest['format'],
  files: readonly InputFile[],
  columns: readonly string[],
  signal?: AbortSignal,
): Promise<ColumnSamples> {
  const tallies = new Map(columns.map((name) => [name, new Tally()] as const));
  let left: number = SAMPLE.records;
  for (const file of files.slice(0, SAMPLE.files)) {
    const start = { ...file.start, file: 0 };
    const manifest = { format, files: [{ ...file, start }], columns, keyName: file.keys };
    try {
      reading: for await (const batch of readRecords(manifest, null, signal, { parse: parseObject })) {
        for (const record of batch) {
          if (left-- === 0) break reading;
          if (record.bad === null) addRecord(tallies, columns, record);
        }
      }
    } catch (error) {
      // The run meets the damage of a file in its place, after all records before it.
      if (!(error instanceof InputError)) throw error;
    }
    if (left <= 0) break;
  }
  return new Map([...tallies].map(([name, tally]) => [name, tally.sample]));
}

/** The first file with records: its columns, and samples of them. Null where no file has any. @throws as reading does */
export async function findTable(
  { format, files }: InputManifest,
  signal?: AbortSignal,
): Promise<{ readonly file: InputFile; readonly columns: readonly string[]; readonly samples: ColumnSamples } | null> {
  for (const file of files.slice(0, SAMPLE.files)) {
    const samples = await sampleColumns(format, [file], file.header, signal);
    if ([...samples.values()].some(({ filled }) => filled > 0)) return { file, columns: [...samples.keys()], samples };
  }
  return null;
}

function addRecord(tallies: Map<string, Tally>, columns: readonly string[], { values, object }: InputRecord): void {
  if (values !== null) {
    for (const [at, name] of columns.entries()) tallies.get(name)?.add(values[at] ?? '');
    return;
  }
  for (const [name, value] of Object.entries(object ?? {})) {
    // Where the caller does not know the names, all are sampled.
    if (columns.length === 0 && !tallies.has(name) && tallies.size < MAX_COLUMNS) tallies.set(name, new Tally());
    tallies.get(name)?.add(typeof value === 'string' ? value : keyText(value));
  }
}

class Tally {
  #filled = 0;
  readonly #cells: Record<Form, number> = { address: 0, domain: 0, profile: 0, phone: 0 };
  readonly #different: Record<Form, Set<string>> = { address: new Set(), domain: new Set(), profile: new Set(), phone: new Set() };
  readonly #values = new Set<string>();

  add(cell: string): void {
    const text = cell.trim();
    if (text === '') return;
    this.#filled++;
    this.#values.add(text.slice(0, EXAMPLES.chars));
    const found = text.length > LONGEST_KEY ? null : formOf(text);
    if (found === null) return;
    const [form, key] = found;
    this.#cells[form]++;
    this.#different[form].add(key);
  }

  get sample(): ColumnSample {
    const { address, domain, profile, phone } = this.#different;
    return {
      filled: this.#filled,
      cells: this.#cells,
      different: { address: address.size, domain: domain.size, profile: profile.size, phone: phone.size },
      values: this.#values.size,
      examples: [...this.#values].slice(0, EXAMPLES.values),
    };
  }
}

const AT_SIGN = /[@\uff20\ufe6b]/;
/** A host name in a cell without spaces, or a URL. */
const DOTTED = /^\S+\.\S{2,}$/;
/** As people write numbers, with at least seven digits. */
const NUMBER = /^['"=(+\d][^@]*$/;
const FEWEST_DIGITS = 7;

/** The form of a text, and the key in it; null for any other text. */
export function formOf(text: string): readonly [Form, string] | null {
  if (AT_SIGN.test(text)) {
    const address = addressIn(text);
    return address === null ? null : ['address', address.key];
  }
  if (text.includes('/')) {
    const profile = profileKey(text);
    if (profile !== null) return ['profile', profile];
  }
  if (DOTTED.test(text)) {
    const domain = companyDomainIn(text);
    if (domain !== null && (suffixOf(domain) !== null || isReserved(domain, false))) return ['domain', domain];
  }
  if (!NUMBER.test(text)) return null;
  const digits = text.replaceAll(/\D/g, '');
  return digits.length < FEWEST_DIGITS || digits.length > 20 ? null : ['phone', digits];
}
