/** The Python of the tests: an environment with the library and the tools that check it, made once and kept in the cache. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { lackingPackages } from '../../test/services/debian.ts';
import type { Runner } from './runner.ts';

const run = promisify(execFile);
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/millrace-clients');
const ENVIRONMENT = join(CACHE, 'python');

/** Packages beside the library. */
const TOOLS = ['ruff==0.17.6', 'mypy==2.4.1', 'hatchling==1.33.0', 'editables==0.5', 'standardwebhooks==1.1.0'];

/** Holds a lock until its input ends, or its parent does. */
const HOLD_LOCK = `
import fcntl, sys
with open(sys.argv[1], "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print("locked", flush=True)
    sys.stdin.read()
`;

/** The folder with `python`, `ruff` and `mypy`; else why there is none. Tests that start at once wait for one installation. */
export function pythonTools(library: string): Promise<string | { readonly bin: string }> {
  prepared ??= prepare(library);
  return prepared;
}

let prepared: Promise<string | { readonly bin: string }> | undefined;

async function prepare(library: string): Promise<string | { readonly bin: string }> {
  const hasVenv = (): Promise<boolean> => run('python3', ['-c', 'import ensurepip, venv']).then(Boolean, () => false);
  const lacks = await lackingPackages(['python3', 'python3-venv'], ['python3'], hasVenv);
  if (lacks !== null) return lacks;
  await mkdir(CACHE, { recursive: true });
  // Test files are processes of their own.
  const lock = spawn('python3', ['-c', HOLD_LOCK, join(CACHE, 'python.lock')], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    await once(lock.stdout, 'data');
    return await install(library);
  } finally {
    lock.stdin.end();
  }
}

async function install(library: string): Promise<string | { readonly bin: string }> {
  const bin = join(ENVIRONMENT, 'bin');
  const stamp = join(ENVIRONMENT, 'installed');
  const wanted = [library, ...TOOLS, await readFile(join(library, 'pyproject.toml'), 'utf8')].join('\n');
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted) return { bin };
  try {
    await rm(ENVIRONMENT, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', ENVIRONMENT]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    await run(join(bin, 'python'), [...pip, ...TOOLS]);
    await run(join(bin, 'python'), [...pip, '--no-build-isolation', '--editable', library]);
    await writeFile(stamp, wanted);
    return { bin };
  } catch (error) {
    return `the Python environment cannot be made: ${(error as { stderr?: string }).stderr ?? String(error)}`;
  }
}

export async function pythonRunner(library: string): Promise<Runner | string> {
  const tools = await pythonTools(library);
  if (typeof tools === 'string') return tools;
  return { command: join(tools.bin, 'python'), args: ['conformance.py'], cwd: library };
}
