/** The real service as a process. */
import type { Folder, Started } from './cli.ts';

export interface ServedProcess extends Started {
  readonly url: string;
}

/** Starts `millrace serve` on a free port, and resolves when it is ready. */
export async function serve(folder: Folder, args: readonly string[], env: Record<string, string> = {}): Promise<ServedProcess> {
  const started = folder.start(['serve', '--port', '0', ...args], { env });
  await started.says(/^\{"url":.*\}$/m);
  return { ...started, url: (JSON.parse(started.stdout()) as { url: string }).url };
}

/** Creates a key in the store and returns it. */
export async function createKey(folder: Folder, store: string, ...args: string[]): Promise<string> {
  return (await folder.run(['keys', 'create', '--store', store, ...args])).stdout.trim();
}
