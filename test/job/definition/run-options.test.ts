import { expect, test } from 'vitest';
import { compileRunOptions } from '../../../src/job/definition/run-options.ts';
import { refusalOf } from './support.ts';

const options = (env: NodeJS.ProcessEnv, flags: Record<string, string | boolean | string[]>) => compileRunOptions(env, new Map(Object.entries(flags)));

test('the defaults', () => {
  expect(options({}, {})).toEqual({ options: { fresh: false, scratch: null, progress: 'auto', logLevel: 'info' }, date: null });
});

test('variables, and flags over them', () => {
  const env = { MILLRACE_FRESH: 'true', MILLRACE_DATE: '2026-01-01', MILLRACE_SCRATCH: '/a', MILLRACE_PROGRESS: 'none', MILLRACE_LOG_LEVEL: 'debug' };
  expect(options(env, {})).toEqual({ options: { fresh: true, scratch: '/a', progress: 'none', logLevel: 'debug' }, date: '2026-01-01' });
  const flags = { fresh: false, date: '2026-02-02', scratch: 'b', progress: 'log', 'log-level': 'warn' };
  expect(options(env, flags)).toEqual({ options: { fresh: false, scratch: 'b', progress: 'log', logLevel: 'warn' }, date: '2026-02-02' });
});

test('a Job of Kubernetes gives its day by its name', () => {
  expect(options({ MILLRACE_DATE: 'nightly-29920319' }, {}).date).toBe('2026-11-20');
});

test.each([
  [{}, { progress: 'loud' }, 'bad_value', 64, /^--progress must be one of auto, bar, log, none, got "loud"$/],
  [{ MILLRACE_LOG_LEVEL: 'loud' }, {}, 'bad_value', 78, /^MILLRACE_LOG_LEVEL must be one of trace/],
  [{ MILLRACE_FRESH: 'yes' }, {}, 'bad_value', 78, /^MILLRACE_FRESH must be true or false, got "yes"$/],
  [{ MILLRACE_DATE: '2025-02-29' }, {}, 'bad_date', 78, /^MILLRACE_DATE must be a day/],
  [{}, { date: 'today' }, 'bad_date', 64, /^--date must be a day written YYYY-MM-DD, or the name of a Kubernetes Job .*, got "today"$/],
  [{}, { date: ['2026-01-01', '2026-01-02'] }, 'repeated_flag', 64, /--date is given more than once/],
  [{}, { scratch: '' }, 'missing_value', 64, /--scratch needs a value/],
])('%j and %j: %s', (env, flags, code, exitCode, message) => {
  const error = refusalOf(() => options(env, flags));
  expect(error).toMatchObject({ code, exitCode });
  expect(error.message).toMatch(message);
});
