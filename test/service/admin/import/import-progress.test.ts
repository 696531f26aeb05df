import { expect, it } from 'vitest';
import { ImportProgress } from '../../../../src/service/admin/import/import-progress.ts';

function shown(
  isTTY: boolean,
  env: NodeJS.ProcessEnv = {},
): { progress: ImportProgress; pass: (ms: number) => void; written: () => string[] } {
  const lines: string[] = [];
  let nowMs = 0;
  const out = { isTTY, columns: 80, write: (text: string) => lines.push(text) };
  return { progress: new ImportProgress(out, env, () => nowMs), pass: (ms) => (nowMs += ms), written: () => lines.splice(0) };
}

it('a terminal shows a bar with the part of the file, rows, rate and time left, on one line that the end removes', () => {
  const { progress, pass, written } = shown(true);
  progress.update('crm.csv', 100, 0.01);
  pass(4_000);
  progress.update('crm.csv', 8_000, 0.25);
  expect(written()).toEqual(['\r\u001b[Kcrm.csv [#####...............] 25 %, 8,000 rows, 2,000 a second, 12 s left']);
  pass(100);
  progress.update('crm.csv', 8_200, 0.26);
  expect(written()).toEqual([]);
  pass(100);
  progress.update('crm.csv', 8_400, 0.27);
  progress.end();
  progress.end();
  expect(written().at(-1)).toBe('\r\u001b[K');
});

it.each([
  [false, {}],
  [true, { TERM: 'dumb' }],
  [true, { CI: 'true' }],
])('elsewhere a line appears every ten seconds, and none in a short import', (isTTY, env) => {
  const { progress, pass, written } = shown(isTTY, env);
  progress.update('crm.csv.gz', 10, null);
  pass(9_999);
  progress.update('crm.csv.gz', 20, null);
  expect(written()).toEqual([]);
  pass(1);
  progress.update('crm.csv.gz', 80_000, null);
  expect(written()).toEqual(['millrace: crm.csv.gz: 80,000 rows, 8,000 a second\n']);
  progress.end();
  expect(written()).toEqual([]);
});

it('a bar fits its terminal, and a name cannot control it', () => {
  const { progress, pass, written } = shown(true);
  const name = `${'folder/'.repeat(20)}a\u001b[2Jb.csv`;
  progress.update(name, 1, 0);
  pass(5_000);
  progress.update(name, 1_000_000, 0.5);
  const [line = ''] = written();
  expect(line.length).toBeLessThan(80 + 4);
  expect(line.slice(4)).not.toContain('\u001b');
});
