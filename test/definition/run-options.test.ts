import { expect, test } from 'vitest';
import { compileRunOptions } from '../../src/definition/run-options.ts';
import { refusalOf } from './support.ts';

const options = (env: NodeJS.ProcessEnv, flags: Record<string, string | boolean | string[]>) =>
  compileRunOptions(env, new Map(Object.entries(flags)));

test('a run without flags has the default options', () => {
  expect(options({}, {})).toEqual({
    options: { shard: null, fresh: false, scratch: null, progress: 'auto', logLevel: 'info', logFormat: 'plain', monitor: null },
    date: null,
  });
});

test('variables set options, and flags win over them', () => {
  const env = {
    MILLRACE_FRESH: 'true',
    MILLRACE_DATE: '2026-01-01',
    MILLRACE_SCRATCH: '/a',
    MILLRACE_PROGRESS: 'none',
    MILLRACE_LOG_LEVEL: 'debug',
    MILLRACE_MONITOR: '9464',
  };
  expect(options(env, {})).toEqual({
    options: {
      shard: null,
      fresh: true,
      scratch: '/a',
      progress: 'none',
      logLevel: 'debug',
      logFormat: 'plain',
      monitor: { host: '127.0.0.1', port: 9464 },
    },
    date: '2026-01-01',
  });
  const flags = {
    fresh: false,
    date: '2026-02-02',
    scratch: 'b',
    progress: 'log',
    'log-level': 'warn',
    'log-format': 'json',
    monitor: '[::1]:0',
  };
  expect(options(env, flags)).toEqual({
    options: {
      shard: null,
      fresh: false,
      scratch: 'b',
      progress: 'log',
      logLevel: 'warn',
      logFormat: 'json',
      monitor: { host: '::1', port: 0 },
    },
    date: '2026-02-02',
  });
});

test.each([
  [{ MILLRACE_SHARD: '1/4' }, {}, { index: 1, of: 4 }],
  [{ MILLRACE_SHARD: '1/4' }, { shard: '0/2' }, { index: 0, of: 2 }],
  [{ JOB_COMPLETION_INDEX: '3', MILLRACE_SHARD_COUNT: '4' }, {}, { index: 3, of: 4 }],
  [{ JOB_COMPLETION_INDEX: '3', MILLRACE_SHARD_COUNT: '4' }, { shard: '2/8' }, { index: 2, of: 8 }],
  // The index alone belongs to any Indexed Job, and one shard of one is the whole job.
  [{ JOB_COMPLETION_INDEX: '3' }, {}, null],
  [{}, { shard: '0/1' }, null],
])('%j and %j: shard %j', (env, flags, shard) => {
  expect(options(env as NodeJS.ProcessEnv, flags as Record<string, string>).options.shard).toEqual(shard);
});

test("a command without shards ignores the pod's index", () => {
  expect(compileRunOptions({ MILLRACE_SHARD_COUNT: '4' }, new Map(), ['date']).options.shard).toBeNull();
});

test('a Kubernetes Job gives its day by its name', () => {
  expect(options({ MILLRACE_DATE: 'nightly-29920319' }, {}).date).toBe('2026-11-20');
});

test('the monitor listens on this machine alone, except in a pod or on a given address', () => {
  const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1' };
  const monitor = (env: NodeJS.ProcessEnv, text: string) => options(env, { monitor: text }).options.monitor;
  expect([monitor({}, '9464'), monitor(pod, '9464'), monitor(pod, 'localhost:1'), monitor({}, '0.0.0.0:65535')]).toEqual([
    { host: '127.0.0.1', port: 9464 },
    { host: null, port: 9464 },
    { host: 'localhost', port: 1 },
    { host: '0.0.0.0', port: 65_535 },
  ]);
});

test.each([
  [{}, { monitor: '65536' }, 'bad_value', 64, /^--monitor must be a port, or HOST:PORT, got "65536"$/],
  [{ MILLRACE_MONITOR: 'tcp://10.0.0.7:9464' }, {}, 'bad_value', 78, /^MILLRACE_MONITOR must be a port/],
  [{}, { monitor: true }, 'missing_value', 64, /--monitor needs a value/],
  [{}, { progress: 'loud' }, 'bad_value', 64, /^--progress must be one of auto, bar, log, none, got "loud"$/],
  [{ MILLRACE_LOG_LEVEL: 'loud' }, {}, 'bad_value', 78, /^MILLRACE_LOG_LEVEL must be one of trace/],
  [{ MILLRACE_FRESH: 'yes' }, {}, 'bad_value', 78, /^MILLRACE_FRESH must be true or false, got "yes"$/],
  [{ MILLRACE_DATE: '2025-02-29' }, {}, 'bad_date', 78, /^MILLRACE_DATE must be a day/],
  [
    {},
    { date: 'today' },
    'bad_date',
    64,
    /^--date must be a day written YYYY-MM-DD, or the name of a Kubernetes Job .*, got "today"; did you mean \d{4}-\d{2}-\d{2}\?$/,
  ],
  [{}, { progress: 'lgo' }, 'bad_value', 64, /got "lgo"; did you mean log\?$/],
  [{}, { 'log-level': 'wran' }, 'bad_value', 64, /got "wran"; did you mean warn\?$/],
  [{}, { date: ['2026-01-01', '2026-01-02'] }, 'repeated_flag', 64, /--date is given more than once/],
  [{}, { shard: '4/4' }, 'bad_value', 64, /^--shard must be I\/N, counted from 0, such as 0\/4, got "4\/4"$/],
  [{}, { shard: '1' }, 'bad_value', 64, /^--shard must be I\/N/],
  [{ MILLRACE_SHARD: '-1/4' }, {}, 'bad_value', 78, /^MILLRACE_SHARD must be I\/N/],
  [{ JOB_COMPLETION_INDEX: '4', MILLRACE_SHARD_COUNT: '4' }, {}, 'bad_value', 78, /^MILLRACE_SHARD_COUNT must be I\/N.* got "4\/4"$/],
  [
    { MILLRACE_SHARD_COUNT: '4' },
    {},
    'no_shard',
    78,
    /^MILLRACE_SHARD_COUNT says that there are "4" shards, and nothing says which of them this is$/,
  ],
  [{}, { shard: '0/2000' }, 'bad_value', 64, /^--shard: 2000 shards are more than the 1000 that there may be$/],
  [{}, { scratch: '' }, 'missing_value', 64, /--scratch needs a value/],
])('%j and %j: %s', (env, flags, code, exitCode, message) => {
  const error = refusalOf(() => options(env, flags));
  expect(error).toMatchObject({ code, exitCode });
  expect(error.message).toMatch(message);
});
