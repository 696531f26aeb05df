/** A definition as its files have it: one value, and where each of its keys stands. Pure. */
import { DefinitionError } from '../definition-error.ts';

export interface Place {
  readonly file: string;
  /** From 1; null where it is unknown. */
  readonly line: number | null;
}

export interface DefinitionFile {
  /** The definition's own file. Keys that it inherits stand in other files. */
  readonly file: string;
  /** Not validated yet. */
  readonly value: unknown;
  /** The place of each key, by its path such as `operations.enrich.keys[2]`. */
  readonly places: ReadonlyMap<string, Place>;
}

/** The place of a key, or of the nearest key around it. */
export function placeOf({ file, places }: DefinitionFile, key: string): Place {
  for (let path = key; path !== ''; path = path.replace(/(?:^|\.)[^.[\]]*$|\[\d+\]$/, '')) {
    const place = places.get(path);
    if (place !== undefined) return place;
    if (!/[.[]/.test(path)) break;
  }
  return { file, line: null };
}

/** `acme.yaml, line 12`. */
export function placeText(definition: DefinitionFile, key: string): string {
  const { file, line } = placeOf(definition, key);
  return line === null ? file : `${file}, line ${line}`;
}

/** The error for a key: exit 78, with file and line. @param message names the key */
export function refusalAt(definition: DefinitionFile, key: string, code: string, message: string, hint?: string): DefinitionError {
  return new DefinitionError(key, code, `${message} (${placeText(definition, key)})`, hint);
}

/** `operations.enrich.keys[2]` for the path of a zod issue. */
export function keyOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (key, part) => (typeof part === 'number' ? `${key}[${part}]` : key === '' ? String(part) : `${key}.${String(part)}`),
    '',
  );
}
