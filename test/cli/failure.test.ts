import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { describeFailure } from '../../src/cli/failure.ts';
import { ConfigError, MillraceError } from '../../src/util/errors.ts';

test('a MillraceError prints its message and hint, in red on a terminal only', () => {
  const error = new ConfigError('some_code', 'this is wrong', { hint: 'do that' });
  expect(describeFailure(error, false)).toEqual({ text: 'millrace: this is wrong\n  do that\n', exitCode: 78 });
  expect(describeFailure(error, true).text).toBe('\u001b[31mmillrace:\u001b[39m this is wrong\n  do that\n');
  expect(describeFailure(new MillraceError(75, 'x', 'no hint'), false)).toEqual({ text: 'millrace: no hint\n', exitCode: 75 });
});

test('control characters in a message are shown as text, wherever they come from', () => {
  const error = new ConfigError('some_code', 'a\u001b[31mred.csv\nnext\tline', { hint: 'é\u0000\u009b' });
  expect(describeFailure(error, false).text).toBe('millrace: a\\u001b[31mred.csv\nnext\tline\n  é\\u0000\\u009b\n');
});

test('any other error is a bug and ends with 70 and its stack', () => {
  const { text, exitCode } = describeFailure(new TypeError('of undefined'), false);
  expect(exitCode).toBe(70);
  expect(text).toMatch(/this is a bug in Millrace[\s\S]*TypeError: of undefined\n\s+at /);
});

const failure = fileURLToPath(new URL('../../src/cli/failure.ts', import.meta.url));

test.each(['setImmediate(() => { throw new Error("oops"); })', 'Promise.reject(new Error("oops"))'])(
  'an uncaught error ends with 70: %s',
  (code) => {
    const load = `const { watchForBugs } = await import(${JSON.stringify(failure)});`;
    const script = `${load} watchForBugs(); ${code}; setInterval(() => {}, 1000);`;
    const found = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 30_000 });
    expect(found.status).toBe(70);
    expect(found.stderr).toMatch(/this is a bug in Millrace[\s\S]*Error: oops\n\s+at /);
  },
);

const bin = fileURLToPath(new URL('../../src/cli/millrace.ts', import.meta.url));

test('a closed standard output is no failure', async () => {
  const child = spawn(process.execPath, [bin, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  // Closed at once, so the child writes to a closed pipe.
  child.stdout.destroy();
  const stderr = child.stderr.setEncoding('utf8').toArray();
  const [status] = (await once(child, 'close')) as [number | null];
  expect({ status, stderr: (await stderr).join('') }).toEqual({ status: 0, stderr: '' });
});

test.runIf(existsSync('/dev/full'))('standard output that cannot be written is a storage error', () => {
  const found = spawnSync('bash', ['-c', `"$0" "$1" --help > /dev/full`, process.execPath, bin], { encoding: 'utf8', timeout: 30_000 });
  expect(found.status).toBe(74);
  expect(found.stderr).toMatch(/^millrace: standard output could not be written: ENOSPC/);
});
