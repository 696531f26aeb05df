/** A definition under compilation, and the faults that are found in it. Pure. */
import { show } from '../../util/show.ts';
import type { Mapping } from '../compiled-provider.ts';
import { DefinitionError } from '../definition-error.ts';
import { compileTree, leavesOf } from '../mapping/compile-tree.ts';
import { rootsOf } from '../mapping/roots.ts';
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

/** The names that a mapping of an answer may read. */
const OF_AN_ANSWER = ['status', 'headers', 'body'];

/** The same where the input is an answer. A name that no answer has is refused: such a rule is never true. @throws ConfigError */
export function compileForAnswers(source: Source, key: string, value: unknown): Mapping {
  const mapping = compileExpressions(source, key, value);
  for (const leaf of leavesOf(key, value)) tried(source, null, () => checkRoots(source, leaf));
  return mapping;
}

function checkRoots({ definition }: Source, { key, text }: { readonly key: string; readonly text: string }): void {
  const unknown = [...rootsIn(text)].find((name) => !OF_AN_ANSWER.includes(name));
  if (unknown === undefined) return;
  const place = placeText(definition, key);
  const message = `${key}: an answer has status, headers and body, and no ${show(unknown)}${place === '' ? '' : ` (${place})`}`;
  throw new DefinitionError(key, 'bad_mapping', message, `Write body.${unknown} for a field of the body.`);
}

/** Empty for a text that is no expression, which is another fault. */
function rootsIn(text: string): ReadonlySet<string> {
  try {
    return rootsOf(text);
  } catch {
    return new Set();
  }
}

/** Stands for a mapping with a fault. Its text may read any key, so that no key is called unused for it; it is never evaluated. */
const nothing = (key: string): Mapping => ({ key, text: '$$', evaluate: async () => undefined });
