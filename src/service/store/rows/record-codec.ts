/**
 * Encodes normalised records as columns: a message between threads costs by its number of values, and objects would add member names. Pure.
 */

/** A text, null without one, or `SAME` for the text of another column of the record. */
type EncodedText = string | typeof SAME | null;

/** Stands for a text that another column of the record has. */
const SAME = true;

/** The values of many records, one record after another. */
export interface EncodedRecords {
  /** NaN means null. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly texts: readonly EncodedText[];
  /** Only for the few records that have lists. */
  readonly lists: readonly (readonly string[])[];
}

/** Writes the values of records. */
export class RecordEncoder {
  #numbers: Float64Array<ArrayBuffer>;
  #count = 0;
  readonly #texts: EncodedText[] = [];
  readonly #lists: (readonly string[])[] = [];

  /** @param capacity how many numbers will be written */
  constructor(capacity: number) {
    this.#numbers = new Float64Array(capacity);
  }

  number(value: number | null): void {
    this.#numbers[this.#count++] = value ?? NaN;
  }

  /** @param twin the value of another column that the decoder has already read */
  text(value: string | null, twin: string | null = null): void {
    this.#texts.push(value !== null && value === twin ? SAME : value);
  }

  list(value: readonly string[]): void {
    this.#lists.push(value);
  }

  get records(): EncodedRecords {
    return { numbers: this.#numbers, texts: this.#texts, lists: this.#lists };
  }
}

/** Shared by all records without a list. */
export const NO_LIST: readonly string[] = [];

/** Reads values in the order in which they were written. */
export class RecordDecoder {
  readonly #records: EncodedRecords;
  #number = 0;
  #text = 0;
  #list = 0;

  constructor(records: EncodedRecords) {
    this.#records = records;
  }

  get isAtEnd(): boolean {
    return this.#number >= this.#records.numbers.length;
  }

  number(): number {
    return this.#records.numbers[this.#number++] as number;
  }

  numberOrNull(): number | null {
    const value = this.number();
    return Number.isNaN(value) ? null : value;
  }

  textOrNull(twin: string | null = null): string | null {
    const value = this.#records.texts[this.#text++] as EncodedText;
    return value === SAME ? twin : value;
  }

  text(twin: string | null = null): string {
    return this.textOrNull(twin) as string;
  }

  list(): readonly string[] {
    return this.#records.lists[this.#list++] as readonly string[];
  }
}

/** @param numbers numbers of one record @param encode writes one record's values */
export function encodeRecords<T>(
  records: readonly T[],
  numbers: number,
  encode: (encoder: RecordEncoder, record: T) => void,
): EncodedRecords {
  const encoder = new RecordEncoder(records.length * numbers);
  for (const record of records) encode(encoder, record);
  return encoder.records;
}

/** @param decode reads one record's values in the order of writing */
export function decodeRecords<T>(encoded: EncodedRecords, decode: (from: RecordDecoder) => T): T[] {
  const decoder = new RecordDecoder(encoded);
  const records: T[] = [];
  while (!decoder.isAtEnd) records.push(decode(decoder));
  return records;
}
