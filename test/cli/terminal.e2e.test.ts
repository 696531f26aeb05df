/** A run on real pseudo-terminals: three widths, resized, and piped. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { BUNDLE, SEMI_SPACES } from '../support/cli.ts';
import { API_KEY } from '../support/scripted-service.ts';
import { Screen } from '../support/screen.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';
import { ensurePackage } from '../services/debian.ts';

const DRIVER = fileURLToPath(new URL('../support/pseudo-terminal.py', import.meta.url));
const LEADS = `email\n${Array.from({ length: 60 }, (_, i) => `a${i}@works.example\n`).join('')}`;

/** Runs on a terminal of these sizes, `160x40,80x24` for one that is resized. */
async function onTerminal(sizes: string, more: Record<string, string> = {}): Promise<{ screen: Screen; raw: string; code: number }> {
  const { folder, service, args } = await makeWorld(LEADS);
  service.latencyMs = 60;
  const command = [process.execPath, BUNDLE, ...args({ steps: 'enrich', concurrency: '2', progress: 'auto' })];
  const env = { ...process.env, CI: '', TERM: 'xterm', NODE_OPTIONS: SEMI_SPACES, MILLRACE_API_KEY: API_KEY, ...more };
  const child = spawn('python3', [DRIVER, sizes, ...command], { cwd: folder.path, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let raw = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (raw += text));
  await once(child, 'close');
  const end = raw.lastIndexOf('\n{"code"') === -1 ? raw.lastIndexOf('{"code"') : raw.lastIndexOf('\n{"code"');
  const { code } = JSON.parse(raw.slice(end)) as { code: number };
  const screen = new Screen(Number(sizes.split('x')[0]));
  for (const [i, piece] of raw
    .slice(0, end)
    .split(/\0SIZE (\d+)\0/)
    .entries()) {
    if (i % 2 === 0) screen.write(piece);
    else screen.resize(Number(piece));
  }
  return { screen, raw, code };
}

const hasPython = ensurePackage('python3');

/** The width at the end; the last one is resized. */
const SIZES: readonly (readonly [string, number])[] = [
  ['160x40', 160],
  ['80x24', 80],
  ['40x24', 40],
  ['160x40,80x24,50x20', 50],
];

test.runIf(hasPython).each([...sampleOf(SIZES.slice(0, 3), 1), ...SIZES.slice(3)])(
  'on a terminal of %s columns the bar fits, is redrawn in place, and leaves the summary alone',
  async (sizes, columns) => {
    const { screen, code } = await onTerminal(sizes);
    expect(code).toBe(0);
    const bars = screen.frames.filter((frame) => frame.includes('requests/s') || /\[[█▒░]+\]/.test(frame));
    expect(bars.length).toBeGreaterThan(1);
    // Never two bars at once: the one before was taken away whole, also after the terminal became narrower.
    for (const frame of screen.frames) expect(frame.match(/\[[█▒░]+\] \d+%/g)?.length ?? 0).toBeLessThanOrEqual(1);
    const left = screen.lines.join('\n');
    expect(left).not.toMatch(/[█▒░]|requests\/s|"level"/);
    expect(left).toMatch(/^records +60/m);
    // The preview's table fits. Paths of files may be longer than a line.
    const table = left.slice(left.indexOf('\nemail ')).split('\n').slice(1);
    expect(table.length).toBeGreaterThan(3);
    for (const line of table) expect(line.length).toBeLessThanOrEqual(columns);
  },
);

test.runIf(hasPython)('colours are there on a terminal, and not with NO_COLOR', async () => {
  const colour = /\u001b\[\d+m/;
  const [coloured, bare] = await Promise.all([onTerminal('100x30'), onTerminal('100x30', { NO_COLOR: '1' })]);
  expect(coloured.raw).toMatch(colour);
  expect(bare.raw).not.toMatch(colour);
});
