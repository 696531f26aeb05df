/** A store of generated contacts, as large as wanted. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Makes the store at `path` with `millrace import`, unless it is there already; what it is made of lies beside it meanwhile. */
export function generatedStore(path: string, contacts: number): void {
  if (existsSync(path)) return;
  const folder = mkdtempSync(join(dirname(path), 'generated-'));
  const run = (script: string, ...args: string[]): void => {
    const { status, stderr } = spawnSync(process.execPath, [fileURLToPath(new URL(script, import.meta.url)), ...args], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  };
  try {
    run('../../fixtures/generate/large.ts', String(contacts), folder);
    run('../../dist/cli/millrace.js', 'import', '--store', path, ...['companies', 'contacts', 'signals'].flatMap((kind) => [`--${kind}`, join(folder, `${kind}.jsonl`)]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
