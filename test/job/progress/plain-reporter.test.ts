/** The log for people where there is no terminal. */
import { expect, it } from 'vitest';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { plainReporter } from '../../../src/job/progress/plain-reporter.ts';

const JOB = { name: 'nightly' } as unknown as CompiledJob;

it.each([
  ['info', ['started here', 'warning: mind this']],
  ['debug', ['started here', 'warning: mind this']],
  ['warn', ['warning: mind this']],
  ['error', []],
  ['silent', []],
] as const)('the plain log at the level %s has one readable line for each message, with its time', async (level, wanted) => {
  const written: string[] = [];
  const reporter = plainReporter(JOB, { write: (text) => written.push(text) }, level);
  reporter.info('started', 'started here');
  reporter.warn('columns', 'mind this');
  await reporter.close();
  expect(written.map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))).toEqual(wanted.map((line) => `${line}\n`));
  expect(written.every((line) => /^\d\d:\d\d:\d\d \S.*\n$/.test(line))).toBe(true);
});
