/** Records that were made ready as columns of values: what passes from thread to thread costs by its values and not by objects and their names. Pure. */

/** Null where there is none; `SAME`: it is the text that another column of the record has. */
export type PackedText = string | typeof SAME | null;

/** Stands for a text that is there already. */
export const SAME = true;

/** Many records, one behind the other. */
export interface PackedRecords {
  /** So many a record as its kind has numbers; NaN stands for null. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly texts: readonly PackedText[];
  /** Of the few records that have any. */
  readonly lists: readonly (readonly string[])[];
}

/** Puts records' values one behind the other. */
export class Packer {
  #numbers: Float64Array<ArrayBuffer>;
  #count = 0;
  readonly #texts: PackedText[] = [];
  readonly #lists: (readonly string[])[] = [];

  /** @param room for so many numbers */
  constructor(room: number) {
    this.#numbers = new Float64Array(room);
  }

  number(value: number | null): void {
    this.#numbers[this.#count++] = value ?? NaN;
  }

  /** @param twin what the reader has already */
  text(value: string | null, twin: string | null = null): void {
    this.#texts.push(value !== null && value === twin ? SAME : value);
  }

  list(value: readonly string[]): void {
    this.#lists.push(value);
  }

  get records(): PackedRecords {
    return { numbers: this.#numbers, texts: this.#texts, lists: this.#lists };
  }
}

/** What most lists are: one that is the same for all. */
export const NO_LIST: readonly string[] = [];

/** Takes the values out again, in the order in which they were put in. */
export class Unpacker {
  readonly #records: PackedRecords;
  #number = 0;
  #text = 0;
  #list = 0;

  constructor(records: PackedRecords) {
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
    const value = this.#records.texts[this.#text++] as PackedText;
    return value === SAME ? twin : value;
  }

  text(twin: string | null = null): string {
    return this.textOrNull(twin) as string;
  }

  list(): readonly string[] {
    return this.#records.lists[this.#list++] as readonly string[];
  }
}

/** @param numbers how many a record has @param pack puts one record's values in */
export function packedRecords<T>(records: readonly T[], numbers: number, pack: (packer: Packer, record: T) => void): PackedRecords {
  const packer = new Packer(records.length * numbers);
  for (const record of records) pack(packer, record);
  return packer.records;
}

/** @param unpack takes them out, in the same order */
export function unpackedRecords<T>(packed: PackedRecords, unpack: (from: Unpacker) => T): T[] {
  const unpacker = new Unpacker(packed);
  const records: T[] = [];
  while (!unpacker.isAtEnd) records.push(unpack(unpacker));
  return records;
}
