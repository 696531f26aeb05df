/** Puts one definition over another that it uses. Pure. */
import { isObject } from '../../util/is-object.ts';
import type { DefinitionFile, Place } from './definition-file.ts';

/** Below these keys null stands for itself: it is a value of a request's body, or of a record. */
const LITERAL = /(?:^|\.)(?:body|record)$/;

/** Keys of `over` replace those of `base`, mappings merge, and null takes a key away. Each key keeps the place where it was written. */
export function inherit(base: DefinitionFile, over: DefinitionFile): DefinitionFile {
  const places = new Map<string, Place>();
  const merge = (path: string, below: unknown, above: unknown): unknown => {
    if (!isObject(below) || !isObject(above)) return take(over, path, above, places);
    copyPlace(over, path, places);
    const merged: [string, unknown][] = [];
    for (const name of new Set([...Object.keys(below), ...Object.keys(above)])) {
      const child = childOf(path, name);
      if (!Object.hasOwn(above, name)) merged.push([name, take(base, child, below[name], places)]);
      else if (!Object.hasOwn(below, name)) merged.push([name, take(over, child, above[name], places)]);
      else merged.push([name, merge(child, below[name], above[name])]);
    }
    return Object.fromEntries(merged);
  };
  return { file: over.file, value: merge('', base.value, over.value), places };
}

/** The definition without keys whose value is null, except where null is a value. */
export function withoutNulls(definition: DefinitionFile): DefinitionFile {
  const strip = (path: string, value: unknown): unknown => {
    if (LITERAL.test(path) || !isObject(value)) return value;
    const kept = Object.entries(value).filter(([, member]) => member !== null);
    return Object.fromEntries(kept.map(([name, member]) => [name, strip(childOf(path, name), member)]));
  };
  return { ...definition, value: strip('', definition.value) };
}

const childOf = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** A value as it stands in one definition, with the places of all keys in it. */
function take(from: DefinitionFile, path: string, value: unknown, places: Map<string, Place>): unknown {
  copyPlace(from, path, places);
  if (Array.isArray(value)) for (const [index, member] of value.entries()) take(from, `${path}[${index}]`, member, places);
  else if (isObject(value)) for (const [name, member] of Object.entries(value)) take(from, childOf(path, name), member, places);
  return value;
}

function copyPlace(from: DefinitionFile, path: string, places: Map<string, Place>): void {
  const place = from.places.get(path);
  if (place !== undefined) places.set(path, place);
}
