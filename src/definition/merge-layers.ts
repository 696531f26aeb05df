/** Merges the layers of a definition into one. Pure. */
import { KEYS } from './keys.ts';
import type { Layer } from './layers.ts';
import { mergedEntry } from './map-entries.ts';

/** Merges layers key by key; later layers win. Maps merge entry by entry, and null removes all entries. */
export function mergeLayers(layers: readonly Layer[]): Layer {
  const merged: Layer = new Map();
  const maps = KEYS.filter((key) => key.kind === 'map');
  for (const layer of layers) {
    for (const map of maps) {
      if (layer.has(map.path)) {
        for (const path of merged.keys()) if (path.startsWith(`${map.path}.`)) merged.delete(path);
      } else if ([...layer.keys()].some((path) => path.startsWith(`${map.path}.`))) {
        merged.delete(map.path);
      }
    }
    for (const [path, sourced] of layer) {
      const isSettings = maps.some(({ entrySchema, path: map }) => entrySchema !== null && path.startsWith(`${map}.`));
      merged.set(path, isSettings ? { ...sourced, value: mergedEntry(merged.get(path)?.value, sourced.value) } : sourced);
    }
  }
  return merged;
}

/** Turns dotted paths back into the shape of a job file. */
export function nestPaths(merged: Layer): unknown {
  const root: Record<string, unknown> = {};
  const set = (segments: readonly string[], value: unknown): void => {
    let at = root;
    for (const segment of segments.slice(0, -1)) at = (at[segment] ??= {}) as Record<string, unknown>;
    // Defined instead of assigned, because a column may be called __proto__.
    Object.defineProperty(at, segments.at(-1) ?? '', { value, enumerable: true, writable: true, configurable: true });
  };
  for (const key of KEYS) {
    const own = merged.get(key.path);
    if (own !== undefined) set(key.path.split('.'), own.value);
    if (key.kind !== 'map') continue;
    for (const [path, entry] of merged) {
      if (path.startsWith(`${key.path}.`)) set([...key.path.split('.'), path.slice(key.path.length + 1)], entry.value);
    }
  }
  return root;
}
