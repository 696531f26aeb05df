/** Checks a header, and unites several. Pure. */
import { InputError } from '../../util/errors.ts';
import { listNames } from '../header-aliases.ts';
import { MAX_COLUMNS } from '../limits.ts';
import type { InputFile } from '../input-record.ts';

/** @throws InputError `input_too_many_columns`, `input_duplicate_columns`, `input_reserved_column` */
export function checkHeader({ uri, header }: Pick<InputFile, 'uri' | 'header'>, reserved: readonly string[]): void {
  if (header.length > MAX_COLUMNS) throw tooManyColumns(uri);
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const name of header) (seen.has(name) ? twice : seen).add(name);
  if (twice.size > 0) {
    throw new InputError('input_duplicate_columns', `${uri} has several columns of the same name: ${listNames([...twice])}.`, {
      hint: 'Rename them in the first line, so that each can be told from the others.',
    });
  }
  const taken = reserved.filter((name) => seen.has(name));
  if (taken.length > 0) {
    throw new InputError('input_reserved_column', `${uri} has a column that the output adds itself: ${listNames(taken)}.`, {
      hint:
        'Rename it in the input, or in output.fields where that names it. ' +
        'If this file is an output of Millrace, give the original instead.',
    });
  }
}

/** The names in order of first occurrence. @throws InputError `input_too_many_columns` */
export function unionOf(headers: readonly (readonly string[])[]): string[] {
  const union = new Set<string>();
  for (const header of headers) {
    for (const name of header) union.add(name);
    if (union.size > MAX_COLUMNS) throw tooManyColumns('The input');
  }
  return [...union];
}

export function tooManyColumns(where: string): InputError {
  return new InputError('input_too_many_columns', `${where} has more than ${MAX_COLUMNS} columns.`, {
    hint: 'Check its delimiter and its line ends, or remove the columns that are not needed.',
  });
}
