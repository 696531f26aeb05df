/** Measures the share of a process's time that some of its files take, with Node's CPU profiler. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A profile as V8 writes it (Chrome DevTools Protocol, Profiler.Profile). */
interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/**
 * Microseconds of the main thread without idle time: all of it, and the part in those files, including their calls into SQLite and Node.
 */
export interface Share {
  readonly total: number;
  readonly busy: number;
  readonly within: number;
}

/** Reads the single profile that `--cpu-prof-dir` wrote into a folder. @param part a part of the file's URL, such as `/dist/ledger/` */
export function shareOf(folder: string, part: string): Share {
  const [name = ''] = readdirSync(folder);
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const inside = new Set<number>();
  const walk = (id: number, within: boolean): void => {
    const node = byId.get(id);
    if (node === undefined) return;
    const { url } = node.callFrame;
    // Callbacks into other rooms do not count as work of this one.
    const here = url.includes(part) || (within && (!url.includes('/dist/') || url.includes('/dist/sqlite/')));
    if (here) inside.add(id);
    for (const child of node.children ?? []) walk(child, here);
  };
  if (nodes[0] !== undefined) walk(nodes[0].id, false);
  let [total, busy, within] = [0, 0, 0];
  for (const [i, id] of samples.entries()) {
    const time = timeDeltas[i] ?? 0;
    total += time;
    if (byId.get(id)?.callFrame.functionName !== '(idle)') busy += time;
    if (inside.has(id)) within += time;
  }
  return { total, busy, within };
}
