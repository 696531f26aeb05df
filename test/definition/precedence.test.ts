import { servicePace } from '../../src/definition/job-provider.ts';
import * as fc from '../support/fast-check.ts';
import { describe, expect, test } from 'vitest';
import { compileJob } from '../../src/definition/compile-job.ts';
import { KEYS, KEY_BY_FLAG } from '../../src/definition/keys.ts';
import { RUN_FLAGS, SHORT_FLAGS, SWITCHES, variableOf } from '../../src/definition/flags.ts';
import type { JobKey } from '../../src/definition/keys.ts';
import { LEAST, compiled, sources } from './support.ts';

/** Three values for each key, and the place in the compiled job that shows the winner. A key without an entry fails the test. */
const SAMPLES: Readonly<Record<string, readonly [unknown, unknown, unknown]>> = {
  name: ['a', 'b', 'c'],
  'input.uri': ['a.csv', 'b.csv', 'c.csv'],
  'input.format': ['csv', 'tsv', 'jsonl'],
  'input.delimiter': [';', '|', ','],
  'input.encoding': ['utf-8', 'utf-16', 'windows-1252'],
  'input.columns.email': ['a', 'b', 'c'],
  'input.columns.domain': ['a', 'b', 'c'],
  'input.columns.linkedin_url': ['a', 'b', 'c'],
  'input.columns.name': ['a', 'b', 'c'],
  'input.columns.first_name': ['a', 'b', 'c'],
  'input.columns.last_name': ['a', 'b', 'c'],
  'input.columns.company': ['a', 'b', 'c'],
  'input.columns.phone': ['a', 'b', 'c'],
  'input.columns.country': ['a', 'b', 'c'],
  'input.country': ['DE', 'FR', 'GB'],
  'enrich.by': [['email'], ['phone', 'name'], ['name', 'email']],
  'enrich.minLikelihood': [1, 2, 3],
  'enrich.required': [['name'], ['email', 'title'], ['title']],
  'company.by': [['domain'], ['enrich.company.domain', 'domain'], ['enrich.company.domain']],
  'reveal.by': [['email'], ['phone'], ['name', 'linkedin_url']],
  'input.ifMissing': ['fail', 'succeed', 'fail'],
  steps: [['enrich'], ['verify'], ['enrich', 'verify']],
  'service.baseUrl': ['http://a.test', 'http://b.test', 'http://c.test'],
  'service.embedded': [true, true, true],
  'service.plan': ['growth', 'scale', 'enterprise'],
  'service.rpm': [1, 2, 3],
  'service.concurrency': [1, 'auto', 3],
  'service.timeoutMs': [1001, 1002, 1003],
  'service.fields.domain': ['a', 'b', 'c'],
  'verify.when': ['always', 'unverified', 'always'],
  'verify.patienceMs': [1, 2, 3],
  'output.uri': ['a.csv', 'b.csv', 'c.csv'],
  'output.format': ['csv', 'tsv', 'jsonl'],
  'output.escapeFormulas': [true, false, true],
  'checkpoint.uri': ['a', 'b', 'c'],
  'checkpoint.everyMs': [101, 102, 103],
  'ledger.uri': ['a', 'b', 'c'],
  'limits.maxCalls': [1, 2, 3],
  'limits.maxErrors': [1, '2%', 3],
  'limits.maxCredits': [1, 2, 3],
  'service.creditPrice': ['0.1 EUR', '0.2 EUR', '0.3 EUR'],
  'onFinish.url': ['http://a', 'http://b', 'http://c'],
  'onFinish.format': ['slack', 'standard', 'slack'],
  'onTrouble.url': ['http://a', 'http://b', 'http://c'],
  'onTrouble.format': ['slack', 'standard', 'slack'],
  'input.skipLines': [1, 2, 3],
  'input.header': [true, false, true],
  'output.delimiter': [';', '|', ','],
  'output.bom': [true, false, true],
  'output.lineEnds': ['lf', 'crlf', 'lf'],
  'output.split': ['verdict', 'verdict', 'verdict'],
  suppress: ['a.txt', 's3://lists/b.txt', 'c.txt'],
  'output.marker': ['a.done', 'b.done', 'c.done'],
  'alerts.matchRateBelow': ['1%', '2%', '3%'],
  'alerts.peopleMatchRateBelow': ['1%', '2%', '3%'],
  'alerts.companyMatchRateBelow': ['1%', '2%', '3%'],
  'alerts.deliverableBelow': ['1%', '2%', '3%'],
  'alerts.rowsBelow': ['1%', '2%', '3%'],
  'alerts.rowsAbove': ['100%', '200%', '300%'],
  'alerts.sameInput': [true, false, true],
  'limits.limit': [1, 2, 3],
  'limits.maxWaitMs': [1, 2, 3],
  'limits.maxOutageMs': [1, 2, 3],
  'limits.trustMisses': [true, false, true],
  'ledger.maxAgeDays': [1, 2, 3],
  'service.windows': [['1/day'], ['2/second', '3/hour'], ['4/minute']],
  'service.quota': ['redis://a', 'rediss://b:1/2', 'redis://c'],
};
/** Tested separately: maps merge, and the other keys take one value only or depend on another key. */
const APART = new Set(['output.fields', 'service.regions', 'service.region', 'input.where', 'providers']);

const asText = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value));

function nested(path: string, value: unknown): Record<string, unknown> {
  return path.split('.').reduceRight<unknown>((inner, segment) => ({ [segment]: inner }), value) as Record<string, unknown>;
}

/** The same layers with only file, environment or flags, for any subset of the three. */
function layered(key: JobKey, values: readonly unknown[], layers: readonly boolean[]): ReturnType<typeof sources> {
  const least: Record<string, string | boolean> = { input: 'leads.csv', output: 'out/leads.csv' };
  if (key.path !== 'service.baseUrl') least['embedded'] = true;
  if (key.path === 'ledger.maxAgeDays') least['ledger'] = 'kept.ledger';
  delete least[key.flag];
  return sources({
    ...(layers[0] ? { file: nested(key.path, values[0]) } : {}),
    env: layers[1] ? { [key.variable]: asText(values[1]) } : {},
    flags: { ...least, ...(layers[2] ? { [key.flag]: key.kind === 'switch' ? values[2] === true : asText(values[2]) } : {}) },
  });
}

/** The winner's value given by the file alone. */
function alone(key: JobKey, value: unknown): unknown {
  const { name: _, fingerprint: __, ...job } = compileJob(layered(key, [value], [true, false, false])).job;
  return job;
}

describe('a flag wins over the environment, which wins over the file', () => {
  test('every key of the schema has samples', () => {
    expect([...Object.keys(SAMPLES), ...APART].toSorted()).toEqual(KEYS.map((key) => key.path).toSorted());
  });

  test('the highest layer wins for every key and every set of layers', () => {
    const keys = KEYS.filter((key) => !APART.has(key.path));
    const layers = fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()).filter((given) => given.includes(true));
    fc.assert(
      fc.property(fc.constantFrom(...keys), layers, (key, given) => {
        const values = SAMPLES[key.path] ?? [];
        const { name, fingerprint: _, ...job } = compileJob(layered(key, values, given)).job;
        const winner = values[given.lastIndexOf(true)];
        if (key.path === 'name') expect(name).toBe(winner);
        else expect(job).toEqual(alone(key, winner));
      }),
      { numRuns: 400 },
    );
  });

  test('conditions are merged by column, and may be JSON in a flag or a variable', () => {
    const job = compiled({
      file: { input: { where: { out: { not: ['Yes', true] }, email: 'empty' } } },
      env: { MILLRACE_INPUT_WHERE_STATUS: '["New", " open "]' },
      flags: { ...LEAST, 'input.where.email': '{"not":"empty"}', 'input.where.note': '[draft' },
    });
    expect(job.input.where).toEqual({
      out: { isNot: true, values: ['yes', 'true'] },
      status: { isNot: false, values: ['new', 'open'] },
      email: { isNot: true, values: [''] },
      note: { isNot: false, values: ['[draft'] },
    });
  });

  test('entries of maps are merged one by one', () => {
    const job = compiled({
      file: { output: { fields: { A: 'enrich.title', B: 'enrich.name' } } },
      env: { MILLRACE_OUTPUT_FIELDS: '{"B": "enrich.email"}' },
      flags: { ...LEAST, 'output.fields.Job Title': 'enrich.title', 'output.fields.C.d': 'input.C.d' },
    });
    expect(job.output.fields).toEqual({ A: 'enrich.title', B: 'enrich.email', 'Job Title': 'enrich.title', 'C.d': 'input.C.d' });
    expect(
      compiled({ file: { output: { fields: { A: 'enrich.title' } } }, flags: { ...LEAST, 'output.fields': 'null' } }).output.fields,
    ).toBeNull();
  });

  test('a region named by the environment is in lower case', () => {
    const { embedded: _, ...rest } = LEAST;
    const job = compiled({
      env: { MILLRACE_SERVICE_REGIONS_EU: 'https://eu.example.com/', MILLRACE_REGION: 'eu', MILLRACE_RPM: '5' },
      flags: rest,
    });
    expect(job.providers[0]?.baseUrl).toBe('https://eu.example.com');
  });

  test('null resets a value, and an empty variable counts as unset', () => {
    expect(compiled({ file: { limits: { limit: 5 } }, flags: { ...LEAST, limit: 'null' } }).limits.limit).toBeNull();
    expect(compiled({ file: { limits: { limit: 5 } }, env: { MILLRACE_LIMIT: '' }, flags: LEAST }).limits.limit).toBe(5);
  });
});

describe('names', () => {
  test('no two keys share a flag or a variable, and no key has that of a run flag', () => {
    const flags = [...KEYS.map((key) => key.flag), ...RUN_FLAGS];
    expect(new Set(flags).size).toBe(flags.length);
    expect(new Set(flags.map(variableOf)).size).toBe(flags.length);
  });

  test('the short flags and switches equal those of the schema', () => {
    const paths = new Set(KEYS.map((key) => key.path));
    for (const path of Object.keys(SHORT_FLAGS)) expect(paths).toContain(path);
    expect([...SWITCHES].toSorted()).toEqual(
      KEYS.filter((key) => key.kind === 'switch')
        .map((key) => key.flag)
        .toSorted(),
    );
    expect(KEY_BY_FLAG.get('base-url')?.path).toBe('service.baseUrl');
  });

  test.each([
    ['input.columns.email', 'MILLRACE_INPUT_COLUMNS_EMAIL'],
    ['timeout-ms', 'MILLRACE_TIMEOUT_MS'],
    ['checkpoint.everyMs', 'MILLRACE_CHECKPOINT_EVERY_MS'],
    ['input.columns.linkedin_url', 'MILLRACE_INPUT_COLUMNS_LINKEDIN_URL'],
  ])('--%s is %s', (flag, variable) => expect(variableOf(flag)).toBe(variable));

  test('unknown variables are ignored; the dotted form of a short flag gives a warning', () => {
    const { job, warnings } = compileJob(sources({ env: { MILLRACE_PORT: 'tcp://10.0.0.1:80', MILLRACE_SERVICE_RPM: '7' }, flags: LEAST }));
    expect(servicePace(job).rpm).toBeNull();
    expect(warnings).toEqual(['MILLRACE_SERVICE_RPM is ignored: the variable is MILLRACE_RPM']);
  });
});
