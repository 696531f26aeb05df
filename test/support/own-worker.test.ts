/** `own-worker.ts` decides from the files which of them share a worker; `left-behind.ts` checks the result. */
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { needsOwnWorker } from './own-worker.ts';

/** `a.test.ts` in a test/ folder of its own, with a helper. */
async function needs(text: string, { helper = '' } = {}): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-workers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'test'));
  await writeFile(join(folder, 'test', 'a.test.ts'), text);
  await writeFile(join(folder, 'test', 'helper.ts'), helper);
  return needsOwnWorker(join(folder, 'test', 'a.test.ts'));
}

// Composed, so that this file does not match.
const MOCKS = ['vi', "mock('node:os')"].join('.');

describe('a worker of its own', () => {
  it.each([
    ['that mocks a module', MOCKS],
    ['that replaces what a built-in module exports', ['sync', 'BuiltinESMExports()'].join('')],
    ['that sets the environment for a client that the process keeps', ['Object.', 'assign(process.env, s3)'].join('')],
    ['that sets the HTTP client of the process', ['set', 'GlobalDispatcher(agent)'].join('')],
    ['that sets a flag of V8', ['set', "FlagsFromString('--expose-gc')"].join('')],
    ['that measures the heap', ['process.memory', 'Usage()'].join('')],
  ])('belongs to a file %s', async (_, text) => {
    expect(await needs(text)).toBe(true);
  });

  it('belongs to a file whose helper needs one, directly or through another', async () => {
    expect(await needs("import { stop } from './helper.ts';", { helper: MOCKS })).toBe(true);
    expect(await needs("import { stop } from './helper.ts';", { helper: 'export const stop = 1;' })).toBe(false);
  });

  it('belongs to a file whose helper installs hooks, not to one that does so itself or in a function', async () => {
    const hook = 'afterEach(() => undefined);';
    expect(await needs("import './helper.ts';", { helper: hook })).toBe(true);
    expect(await needs(hook)).toBe(false);
    expect(await needs("import './helper.ts';", { helper: `export function scratch() {\n  ${hook}\n}` })).toBe(false);
  });

  it.each([
    ['that stops the clock', ['vi', 'useFakeTimers()'].join('.')],
    ['that sets the environment', ["process.env['TZ']", "'UTC'"].join(' = ')],
    ['that starts processes', ["import { spawn } from 'node:", "child_process';"].join('')],
    ['that counts calls', 'const called = vi.fn();'],
  ])('does not belong to a file %s, because that is undone', async (_, text) => {
    expect(await needs(text)).toBe(false);
  });
});
