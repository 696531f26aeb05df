/** A definition under compilation, and the faults that are found in it. Pure. */
import type { Mapping } from '../compiled-provider.ts';
import { DefinitionError } from '../definition-error.ts';
import { compileTree, leavesOf } from '../mapping/compile-tree.ts';
import { compileMapping } from '../mapping.ts';
import { placeText, type DefinitionFile } from './definition-file.ts';
import type { RawProvider } from './schema.ts';

export interface Source {
  readonly definition: DefinitionFile;
  readonly raw: RawProvider;
  /** Takes each fault, and compilation goes on to find others. Absent: the first fault is thrown. */
  readonly onFault?: (fault: DefinitionError) => void;
}

/** The result of `work`, or `instead` when it found a fault that `onFault` took. */
export function tried<T, I>({ onFault }: Source, instead: I, work: () => T): T | I {
  if (onFault === undefined) return work();
  try {
    return work();
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    onFault(error);
    return instead;
  }
}

/** An expression, or a mapping or list of expressions. @throws ConfigError `bad_mapping` */
export function compileExpressions(source: Source, key: string, value: unknown): Mapping {
  const place = (path: string): string => placeText(source.definition, path);
  if (source.onFault === undefined) return compileTree(key, value, place);
  let isSound = true;
  for (const leaf of leavesOf(key, value))
    isSound = tried(source, null, () => compileMapping(leaf.key, leaf.text, place(leaf.key))) !== null && isSound;
  return isSound ? tried(source, nothing(key), () => compileTree(key, value, place)) : nothing(key);
}

/** Stands for a mapping with a fault. Its text may read any key, so that no key is called unused for it; it is never evaluated. */
const nothing = (key: string): Mapping => ({ key, text: '$$', evaluate: async () => undefined });
