import * as fc from '../support/fast-check.ts';
import { describe, expect, test } from 'vitest';
import { compileJob } from '../../src/definition/compile-job.ts';
import { KEYS } from '../../src/definition/keys.ts';
import { casesOf } from '../support/sample.ts';
import { LEAST, compiled, refusalOf, sources } from './support.ts';
import type { Flags } from './support.ts';

const { embedded: _embedded, ...NO_SERVICE } = LEAST;
const URL_FLAGS: Flags = { ...NO_SERVICE, rpm: '60', 'base-url': 'https://api.example.com' };
const INPUT = { input: { uri: 'leads.csv' }, output: { uri: 'out/leads.csv' } };

/** Code, exit code, message, and the layers that lead to the refusal. */
const CASES: readonly (readonly [string, 64 | 78, RegExp, Parameters<typeof sources>[0]])[] = [
  [
    'unknown_key',
    78,
    /^There is no key service\.rmp; did you mean service\.rpm\? \(jobs\/nightly\.yaml, line 7\)$/,
    { file: { service: { rmp: 1 } }, lines: new Map([['service.rmp', 7]]) },
  ],
  ['unknown_key', 78, /no key rpm; did you mean service\.rpm\?/, { file: { rpm: 1 } }],
  ['unknown_key', 78, /no key inputs; did you mean input\?/, { file: { inputs: {} } }],
  ['unknown_key', 78, /no key "service\.rpm" with a dot/, { file: { 'service.rpm': 1 } }],
  ['unknown_key', 78, /no key __proto__/, { file: JSON.parse('{"__proto__": 1}') as unknown }],
  ['key_in_job', 78, /service\.apiKey does not belong in a job file/, { file: { service: { apiKey: 'secret-value' } } }],
  ['key_in_job', 64, /There is no flag --api-key/, { flags: { 'api-key': 'secret-value' } }],
  [
    'key_in_job',
    64,
    /the API key does not belong in a path/,
    { flags: { ...LEAST, output: '{env:MILLRACE_API_KEY}.csv' }, env: { MILLRACE_API_KEY: 'secret-value' } },
  ],
  ['unknown_flag', 64, /no flag --inptu; did you mean --input\?/, { flags: { inptu: 'x' } }],
  ['unknown_flag', 64, /^--service\.rpm is written --rpm$/, { flags: { 'service.rpm': '1' } }],
  ['unknown_flag', 64, /no flag --checkpoint\.everyms; did you mean --checkpoint\.everyMs\?/, { flags: { 'checkpoint.everyms': '100' } }],
  ['repeated_flag', 64, /^--rpm is given more than once$/, { flags: { ...LEAST, rpm: ['1', '2'] } }],
  [
    'repeated_flag',
    64,
    /^--output\.fields\.A is given more than once$/,
    { flags: { ...LEAST, 'output.fields.A': ['enrich.a', 'enrich.b'] } },
  ],
  ['missing_value', 64, /^--limit needs a value/, { flags: { ...LEAST, limit: true } }],
  ['bad_value', 64, /^--rpm must be a whole number from 1 to 10000000, or null, got "fast"$/, { flags: { ...LEAST, rpm: 'fast' } }],
  ['bad_value', 78, /^MILLRACE_RPM must be .*, got 0$/, { env: { MILLRACE_RPM: '0' }, flags: LEAST }],
  ['bad_value', 78, /^service\.rpm must be .*, got "100" \(jobs\/nightly\.yaml\)$/, { file: { service: { rpm: '100' } } }],
  ['bad_value', 78, /^limits must be a mapping of keys, got null/, { file: { limits: null } }],
  ['bad_value', 78, /^A job file must be a mapping of keys, got \["a"\]/, { file: ['a'] }],
  ['bad_value', 64, /^--steps: the step enrich is named twice/, { flags: { ...LEAST, steps: 'enrich,verify,enrich' } }],
  ['bad_value', 64, /^--steps: "Phone" cannot be a step/, { flags: { ...LEAST, steps: 'enrich,Phone' } }],
  ['bad_value', 64, /^--steps: there is no step "phone"/, { flags: { ...LEAST, steps: 'enrich,phone' } }],
  ['bad_value', 64, /no step "enrihc"; did you mean enrich\?/, { flags: { ...LEAST, steps: 'enrihc' } }],
  ['bad_value', 78, /^steps must be a list/, { file: { steps: [] } }],
  ['bad_value', 78, /^steps must be a list/, { file: { steps: 'enrich' } }],
  [
    'bad_value',
    64,
    /^--max-errors must be a whole number from 0, or a share such as 5%, got "101%"$/,
    { flags: { ...LEAST, 'max-errors': '101%' } },
  ],
  ['bad_value', 64, /^--input must be a path on this machine, got "https:/, { flags: { ...LEAST, input: 'https://example.com/a.csv' } }],
  ['bad_value', 64, /^--output\.fields must be a mapping/, { flags: { ...LEAST, 'output.fields': '{}' } }],
  ['bad_value', 64, /^--output\.fields must be a mapping/, { flags: { ...LEAST, 'output.fields': '{"__proto__": "enrich.a"}' } }],
  ['bad_value', 64, /no step "revael"; did you mean reveal\?/, { flags: { ...LEAST, steps: 'enrich,revael' } }],
  [
    'bad_value',
    64,
    /^--verify\.when is unverified, and enrich is done after verify/,
    {
      flags: { ...LEAST, steps: 'verify,enrich', 'verify.when': 'unverified' },
    },
  ],
  [
    'bad_value',
    64,
    /^--reveal\.by: enrich\.linkedin_url cannot be known: the step enrich is not done before/,
    {
      flags: { ...LEAST, steps: 'reveal,enrich', 'reveal.by': 'enrich.linkedin_url' },
    },
  ],
  [
    'bad_value',
    64,
    /company\.by: enrich\.company\.domian is no key/,
    {
      flags: { ...LEAST, steps: 'enrich,company', 'company.by': 'enrich.company.domian' },
    },
  ],
  [
    'bad_value',
    64,
    /company looks nothing up by email/,
    {
      flags: { ...LEAST, steps: 'enrich,company', 'company.by': 'enrich.email' },
    },
  ],
  [
    'bad_value',
    64,
    /enrich\.compnay\.domain is no field of an answer; did you mean enrich\.company\.domain\?/,
    {
      flags: { ...LEAST, steps: 'enrich,company', 'company.by': 'enrich.compnay.domain' },
    },
  ],
  ['bad_value', 64, /^--input names no bucket: "s3:\/\/"$/, { flags: { ...LEAST, input: 's3://' } }],
  ['bad_value', 64, /^--input names no bucket: /, { flags: { ...LEAST, input: 's3:///leads.csv' } }],
  [
    'bad_value',
    64,
    /^--output names no object: "s3:\/\/bucket\/"$/,
    { flags: { ...LEAST, output: 's3://bucket/', 'output.format': 'csv' } },
  ],
  ['bad_value', 64, /^--checkpoint names no object: "s3:\/\/b"$/, { flags: { ...LEAST, checkpoint: 's3://b' } }],
  ['bad_value', 64, /^--output must be 950 bytes long at most/, { flags: { ...LEAST, output: `s3://bucket/${'k'.repeat(950)}.csv` } }],
  ['bad_value', 64, /^--ledger is no address of a Redis server/, { flags: { ...LEAST, ledger: 'redis://localhost/nine' } }],
  ['secret_in_job', 64, /^--ledger: a password does not belong/, { flags: { ...LEAST, ledger: 'redis://me:secret-value@localhost/0' } }],
  ['bad_value', 64, /^--ledger names no place in a bucket/, { flags: { ...LEAST, ledger: 's3://bucket/' } }],
  [
    'bad_value',
    64,
    /^--service\.quota is no address of a Redis server: "http:\/\/cache"$/,
    { flags: { ...LEAST, 'service.quota': 'http://cache' } },
  ],
  [
    'bad_value',
    78,
    /^MILLRACE_SERVICE_QUOTA is no address of a Redis server: "redis:\/\/\*\*\*@cache:port"$/,
    { env: { MILLRACE_SERVICE_QUOTA: 'redis://:secret@cache:port' }, flags: LEAST },
  ],
  [
    'secret_in_job',
    64,
    /^--service\.quota: a password does not belong into a flag or a job file$/,
    { flags: { ...LEAST, 'service.quota': 'redis://:secret@cache' } },
  ],
  [
    'secret_in_job',
    78,
    /^service\.quota: a password does not belong/,
    { file: { ...INPUT, service: { quota: 'redis://me:secret@cache' } }, flags: LEAST },
  ],
  ['env_missing', 78, /^--service\.quota needs the variable/, { flags: { ...LEAST, 'service.quota': 'redis://:{env:NO_SUCH}@cache' } }],
  [
    'bad_value',
    64,
    /^--verify\.patienceMs must be milliseconds, a whole number from 0 to 604800000/,
    { flags: { ...LEAST, 'verify.patienceMs': '-1' } },
  ],
  [
    'bad_value',
    64,
    /^--plan must be growth, scale or enterprise, got "grwoth"; did you mean growth\?$/,
    { flags: { ...LEAST, plan: 'grwoth' } },
  ],
  ['bad_value', 78, /^MILLRACE_PLAN must be .*, got "Scale"; did you mean scale\?$/, { env: { MILLRACE_PLAN: 'Scale' }, flags: LEAST }],
  [
    'bad_value',
    78,
    /^verify\.when must be .*, got "unverfied"; did you mean unverified\? \(jobs/,
    { file: { verify: { when: 'unverfied' } } },
  ],
  ['bad_value', 64, /^--input\.format must be .*, got "cvs"; did you mean csv\?$/, { flags: { ...LEAST, 'input.format': 'cvs' } }],
  ['bad_value', 64, /^--output\.format must be .*, got "json"; did you mean jsonl\?$/, { flags: { ...LEAST, 'output.format': 'json' } }],
  [
    'bad_value',
    64,
    /^--input\.ifMissing must be .*, got "suceed"; did you mean succeed\?$/,
    { flags: { ...LEAST, 'input.ifMissing': 'suceed' } },
  ],
  ['bad_value', 64, /^--concurrency must be .*, got "atuo"; did you mean auto\?$/, { flags: { ...LEAST, concurrency: 'atuo' } }],
  [
    'bad_value',
    78,
    /^MILLRACE_EMBEDDED must be .*, got "ture"; did you mean true\?$/,
    { env: { MILLRACE_EMBEDDED: 'ture' }, flags: LEAST },
  ],
  [
    'bad_value',
    64,
    /^--input\.encoding must be .*, got "shift-jsi"; did you mean shift_jis\?$/,
    { flags: { ...LEAST, 'input.encoding': 'shift-jsi' } },
  ],
  [
    'bad_value',
    64,
    /^--input\.encoding must be .*, got "latin1x"; did you mean latin1\?$/,
    { flags: { ...LEAST, 'input.encoding': 'latin1x' } },
  ],
  ['bad_value', 64, /^--input\.encoding must be .*, got "nonsense"$/, { flags: { ...LEAST, 'input.encoding': 'nonsense' } }],
  [
    'bad_value',
    64,
    /^--service\.windows must be .*, got .*; did you mean 50\/second\?$/,
    { flags: { ...LEAST, 'service.windows': '9/day,50/secnd' } },
  ],
  [
    'bad_value',
    78,
    /^service\.windows must be .*, got .*; did you mean hour\? \(jobs/,
    { file: { service: { windows: [{ limit: 50, per: 'huor' }] } } },
  ],
  [
    'output_format',
    64,
    /is not clear from its name; did you mean out\/leads\.csv\.gz\?$/,
    { flags: { ...LEAST, output: 'out/leads.cvs.gz' } },
  ],
  [
    'bad_placeholder',
    64,
    /"\{date-1d\}" is none of the placeholders; did you mean \{date:-1d\}\?$/,
    { flags: { ...LEAST, input: '{date-1d}.csv' } },
  ],
  [
    'bad_date',
    64,
    /^--date must be a day written YYYY-MM-DD, got "2026-02-30"; did you mean 2026-02-28\?$/,
    { flags: LEAST, date: '2026-02-30' },
  ],
  [
    'bad_placeholder',
    64,
    /^--input: "\{dat\}" is none of the placeholders; did you mean \{date\}\?$/,
    { flags: { ...LEAST, input: '{dat}/*.csv' } },
  ],
  ['env_missing', 78, /^--input needs the variable NOWHERE, which is not set$/, { flags: { ...LEAST, input: '{env:NOWHERE}.csv' } }],
  ['no_input', 64, /--input FILE is not given/, {}],
  ['no_input', 78, /^input\.uri is missing \(jobs\/nightly\.yaml\)$/, { file: {} }],
  ['no_output', 78, /^output\.uri is missing/, { file: { input: { uri: 'a' } } }],
  ['output_format', 64, /the format of "out\/leads\.xls" is not clear/, { flags: { ...LEAST, output: 'out/leads.xls' } }],
  ['output_format', 64, /the format of "leads\.gz" is not clear/, { flags: { ...LEAST, output: 'leads.gz' } }],
  [
    'same_file',
    64,
    /^output\.uri and input\.uri are the same file/,
    { flags: { ...LEAST, input: './a/../leads.csv', output: 'leads.csv' } },
  ],
  ['same_file', 64, /^checkpoint\.uri and input\.uri are the same file/, { flags: { ...LEAST, checkpoint: 'leads.csv' } }],
  ['same_file', 64, /^ledger\.uri and output\.uri are the same file/, { flags: { ...LEAST, ledger: 'out/leads.jsonl.gz' } }],
  [
    'same_file',
    64,
    /^the output's \.errors\.jsonl and input\.uri are the same file/,
    { flags: { ...LEAST, input: 'x.csv.errors.jsonl', output: 'x.csv' } },
  ],
  [
    'same_file',
    64,
    /^the output's \.open\.jsonl and input\.uri are the same file/,
    { flags: { ...LEAST, input: 'x.csv.open.jsonl', output: 'x.csv' } },
  ],
  [
    'same_file',
    64,
    /^the output's \.partial and ledger\.uri are the same file/,
    { flags: { ...LEAST, output: 'x.csv', ledger: 'x.csv.partial' } },
  ],
  [
    'same_file',
    64,
    /^the file of risky rows and input\.uri are the same file/,
    { flags: { ...LEAST, steps: 'verify', input: 'out/leads.risky.csv', output: 'out/leads.csv', 'output.split': 'verdict' } },
  ],
  [
    'same_file',
    64,
    /^the checkpoint's \.lock and output\.marker are the same file/,
    { flags: { ...LEAST, checkpoint: 'c', 'output.marker': 'c.lock' } },
  ],
  ['same_file', 64, /^--input names the same input twice$/, { flags: { ...LEAST, input: ['a.csv', 'a.csv'] } }],
  ['no_checkpoint', 64, /^--checkpoint: rows that go to standard output/, { flags: { ...LEAST, output: '-', checkpoint: 'c.json' } }],
  [
    'bad_fields',
    64,
    /^output\.fields: "person\.title", for the column "A", is no path into a result; did you mean enrich\.title\?$/,
    { flags: { ...LEAST, 'output.fields.A': 'person.title' } },
  ],
  [
    'bad_fields',
    64,
    /"enrich\.titel", for the column "Mail", is no field of an answer; did you mean enrich\.title\?$/,
    { flags: { ...LEAST, 'output.fields.Mail': 'enrich.titel' } },
  ],
  [
    'bad_fields',
    78,
    /"verify\.resutl".*; did you mean verify\.result\? \(jobs\/nightly\.yaml/,
    { file: { output: { fields: { A: 'verify.resutl' } } }, flags: LEAST },
  ],
  ['bad_fields', 64, /"result\.colour"/, { flags: { ...LEAST, 'output.fields.A': 'result.colour' } }],
  ['bad_fields', 64, /"enrich"/, { flags: { ...LEAST, 'output.fields.A': 'enrich' } }],
  ['bad_fields', 64, /has its record under "input" already$/, { flags: { ...LEAST, 'output.fields.input': 'enrich.title' } }],
  [
    'bad_fields',
    78,
    /has its record under "input" already \(jobs\/nightly\.yaml/,
    { file: { output: { fields: { A: 'enrich.title', input: 'enrich.email' } } }, flags: LEAST },
  ],
  ['ledger_uri', 78, /need a ledger of their own/, { file: { ...INPUT, ledger: { maxAgeDays: 30 }, service: { embedded: true } } }],
  ['bad_name', 78, /cannot be one/, { flags: { ...LEAST, output: `${'x'.repeat(101)}.csv` } }],
  ['bad_value', 64, /^--name must be text of 1 to 100 printable/, { flags: { ...LEAST, name: 'a/b' } }],
  ['no_service', 78, /^No service is chosen/, { flags: NO_SERVICE }],
  ['no_service', 78, /^No service is chosen/, { file: { ...INPUT, service: { embedded: true } }, flags: { embedded: false } }],
  [
    'two_services',
    78,
    /^service\.baseUrl and service\.embedded each choose/,
    { file: { ...INPUT, service: { baseUrl: 'http://a.test', embedded: true } } },
  ],
  ['two_services', 78, /^--base-url and --embedded each choose/, { flags: { ...LEAST, 'base-url': 'http://a.test' } }],
  ['two_quotas', 64, /^--plan and --rpm both say how fast/, { flags: { ...LEAST, plan: 'scale', rpm: '5' } }],
  [
    'two_quotas',
    78,
    /^service\.plan and service\.rpm both say how fast/,
    { file: { ...INPUT, service: { plan: 'scale', rpm: 5, embedded: true } } },
  ],
  ['no_region', 78, /no address for the region "us"/, { flags: { ...NO_SERVICE, region: 'us' } }],
  ['no_region', 78, /no address for the region "constructor"/, { flags: { ...NO_SERVICE, region: 'constructor' } }],
  [
    'no_region',
    78,
    /for the region "apc"; did you mean apac\?/,
    { flags: { ...NO_SERVICE, region: 'apc', 'service.regions.apac': 'https://apac.example.com' } },
  ],
  ['bad_url', 64, /^--base-url must begin with http:/, { flags: { ...URL_FLAGS, 'base-url': 'ftp://api.example.com' } }],
  ['bad_url', 64, /^--base-url must be a URL, got "api\.example\.com"$/, { flags: { ...URL_FLAGS, 'base-url': 'api.example.com' } }],
  [
    'bad_url',
    64,
    /^--base-url must not hold a user name or password$/,
    { flags: { ...URL_FLAGS, 'base-url': 'https://u:secret-value@api.example.com' } },
  ],
  [
    'bad_url',
    64,
    /^--base-url must end after its path/,
    { flags: { ...URL_FLAGS, 'base-url': 'https://api.example.com/?api_key=secret-value' } },
  ],
];

describe('a refusal names the value and has the exit code of its layer', () => {
  test.each(CASES)('%s (%i): %s', (code, exitCode, message, given) => {
    const error = refusalOf(() => compileJob(sources(given)));
    expect({ code: error.code, exitCode: error.exitCode }).toEqual({ code, exitCode });
    expect(error.message).toMatch(message);
    expect(`${error.message} ${error.hint}`).not.toContain('secret-value');
  });

  test('any layer compiles or is refused with a message; nothing else is thrown', () => {
    const flag = fc.constantFrom(...KEYS.map((key) => key.flag), 'output.fields.X', 'service.regions.us', '__proto__', '');
    const text = fc.oneof(fc.string(), fc.constantFrom('-', 'null', '{date}', '{}', '[]', '{"a":1}', '5%', '1', 'true'));
    const outcomes = { compiled: 0, refused: 0 };
    fc.assert(
      fc.property(
        fc.dictionary(flag, fc.oneof(text, fc.boolean(), fc.array(text))),
        fc.oneof(fc.constant(undefined), fc.jsonValue()),
        (flags, file) => {
          try {
            compileJob(sources({ flags: { ...LEAST, ...flags }, ...(file === undefined ? {} : { file }) }));
            outcomes.compiled += 1;
          } catch (error) {
            expect((error as { exitCode: number }).exitCode).toBeOneOf([64, 78]);
            outcomes.refused += 1;
          }
        },
      ),
      { numRuns: casesOf(250, 1000) },
    );
    expect(Math.min(outcomes.compiled, outcomes.refused)).toBeGreaterThan(0);
  });
});

describe("a higher layer's choice replaces that of lower layers", () => {
  test('between rpm and plan', () => {
    expect(compiled({ file: { ...INPUT, service: { embedded: true, plan: 'scale' } }, flags: { rpm: '70' } }).providers[0]).toMatchObject({
      windows: [{ limit: 70, periodMs: 60_000 }],
      plan: null,
    });
    expect(
      compiled({ file: { ...INPUT, service: { embedded: true, rpm: 70 } }, env: { MILLRACE_PLAN: 'scale' } }).providers[0],
    ).toMatchObject({
      windows: [{ limit: 5000, periodMs: 60_000 }],
      plan: 'scale',
    });
  });

  test('between embedded and an address', () => {
    expect(compiled({ file: { ...INPUT, service: { baseUrl: 'http://a.test' } }, flags: { embedded: true } }).providers[0]).toMatchObject({
      baseUrl: null,
      embedded: true,
    });
    expect(
      compiled({ file: { ...INPUT, service: { embedded: true } }, flags: { 'base-url': 'http://a.test/prefix/' } }).providers[0],
    ).toMatchObject({
      baseUrl: 'http://a.test/prefix',
      embedded: false,
    });
    expect(compiled({ file: { ...INPUT, service: { baseUrl: 'http://a.test' } }, flags: { embedded: false } }).providers[0]?.baseUrl).toBe(
      'http://a.test',
    );
  });

  test('without plan and rpm, embedded means enterprise, and any other service growth with a warning', () => {
    expect(compileJob(sources({ flags: LEAST }))).toMatchObject({
      job: { providers: [{ plan: 'enterprise', windows: [] }] },
      warnings: [],
    });
    const { job, warnings } = compileJob(sources({ flags: { ...NO_SERVICE, 'base-url': 'http://a.test' } }));
    expect(job.providers[0]).toMatchObject({ plan: 'growth', windows: [{ limit: 1000, periodMs: 60_000 }] });
    expect(warnings).toEqual([expect.stringMatching(/growth, 1,000 requests a minute/)]);
  });
});
