/** `own-worker.ts` decides from the files which of them share a worker; `left-behind.ts` checks the result. */
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { needsOwnWorker } from './own-worker.ts';

/** `a.test.ts` in a test/ folder of its own, with a helper. */
async function needs(text: string, { helper = '', name = 'a.test.ts' } = {}): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-workers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'test'));
  await writeFile(join(folder, 'test', name), text);
  await writeFile(join(folder, 'test', 'helper.ts'), helper);
  return needsOwnWorker(join(folder, 'test', name));
}

// Composed, so that this file does not match.
const FAKES = ['vi', 'useFakeTimers()'].join('.');

describe('a worker of its own', () => {
  it.each([
    ['that stops the clock', FAKES],
    ['that mocks a module', ['vi', "mock('node:os')"].join('.')],
    ['that sets the environment', ["process.env['TZ']", "'UTC'"].join(' = ')],
    ['that goes elsewhere', ['process', "chdir('/')"].join('.')],
    ['that listens to signals', ['process', "once('SIGTERM', () => undefined)"].join('.')],
    ['that starts processes', ["import { spawn } from 'node:", "child_process';"].join('')],
  ])('belongs to a file %s', async (_, text) => {
    expect(await needs(text)).toBe(true);
  });

  it('belongs to a file whose helper needs one, directly or through another', async () => {
    expect(await needs("import { stop } from './helper.ts';", { helper: FAKES })).toBe(true);
    expect(await needs("import { stop } from './helper.ts';", { helper: 'export const stop = 1;' })).toBe(false);
  });

  it('belongs to a file whose helper installs hooks, not to one that does so itself or in a function', async () => {
    const hook = 'afterEach(() => undefined);';
    expect(await needs("import './helper.ts';", { helper: hook })).toBe(true);
    expect(await needs(hook)).toBe(false);
    expect(await needs("import './helper.ts';", { helper: `export function scratch() {\n  ${hook}\n}` })).toBe(false);
  });

  it('belongs to a long file', async () => {
    expect(await needs('', { name: 'a.e2e.test.ts' })).toBe(true);
    expect(await needs('', { name: 'a.sim.test.ts' })).toBe(true);
  });

  it('does not belong to a file that only reads the environment or counts calls', async () => {
    expect(await needs(["if (process.env['CI'] === 'true') throw new Error();", 'const called = vi.fn();'].join('\n'))).toBe(false);
  });
});
