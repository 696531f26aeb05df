/** Which files share a worker is read from the files; what each leaves behind is looked at in `left-behind.ts`. */
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { needsOwnWorker } from './own-worker.ts';

/** `a.test.ts` below a test/ of its own, with a helper beside it. */
async function needs(text: string, { helper = '', name = 'a.test.ts' } = {}): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-workers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'test'));
  await writeFile(join(folder, 'test', name), text);
  await writeFile(join(folder, 'test', 'helper.ts'), helper);
  return needsOwnWorker(join(folder, 'test', name));
}

// Put together, so that this file is not one of them.
const FAKES = ['vi', 'useFakeTimers()'].join('.');

describe('a worker of its own', () => {
  it.each([
    ['that stops the clock', FAKES],
    ['that mocks a module', ['vi', "mock('node:os')"].join('.')],
    ['that sets the environment', ["process.env['TZ']", "'UTC'"].join(' = ')],
    ['that goes elsewhere', ['process', "chdir('/')"].join('.')],
    ['that listens to signals', ['process', "once('SIGTERM', () => undefined)"].join('.')],
    ['that starts processes', ["import { spawn } from 'node:", "child_process';"].join('')],
  ])('has a file %s', async (_, text) => {
    expect(await needs(text)).toBe(true);
  });

  it('has a file whose helper needs one, directly or through another', async () => {
    expect(await needs("import { stop } from './helper.ts';", { helper: FAKES })).toBe(true);
    expect(await needs("import { stop } from './helper.ts';", { helper: 'export const stop = 1;' })).toBe(false);
  });

  it('has a file whose helper hooks itself in, and none that does so itself or has it done in a function', async () => {
    const hook = 'afterEach(() => undefined);';
    expect(await needs("import './helper.ts';", { helper: hook })).toBe(true);
    expect(await needs(hook)).toBe(false);
    expect(await needs("import './helper.ts';", { helper: `export function scratch() {\n  ${hook}\n}` })).toBe(false);
  });

  it('has a file that is long anyway', async () => {
    expect(await needs('', { name: 'a.e2e.test.ts' })).toBe(true);
    expect(await needs('', { name: 'a.sim.test.ts' })).toBe(true);
  });

  it('has none that only reads the environment or counts calls', async () => {
    expect(await needs(["if (process.env['CI'] === 'true') throw new Error();", 'const called = vi.fn();'].join('\n'))).toBe(false);
  });
});
