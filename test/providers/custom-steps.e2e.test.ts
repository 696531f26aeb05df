/** Steps that only a definition of a provider declares, by keys that earlier steps find. */
import { stat, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { readFooter } from '../../src/formats/parquet/footer.ts';
import { readParquetRows } from '../../src/formats/parquet/parquet-rows.ts';
import { freeDatabase } from '../ledger/shared.ts';
import { describeWith } from '../services/needed.ts';
import { schemaFaults } from '../support/report-schema.ts';
import { makeFolder, startService } from '../support/world.ts';
import { checkpoint, definition, keys, RUN, rowsOf, start, writeJob, writePeople, type ProviderJob } from './jobs.ts';
import { numberOf, startNumbers } from './stand-ins/numbers.ts';
import { findPerson } from './stand-ins/world.ts';

const PEOPLE = 30;
const env = { env: keys('service', 'numbers') };
const person = (key: string): number => findPerson({ email: key }) ?? 0;

/** enrich finds a number of two people in three, and the company's domain of all. */
async function customJob(steps: ProviderJob['steps'], more: object = {}) {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  service.script = ({ path, keys: [key = ''] }, _response, reply, usual) => {
    if (path !== 'enrich') return reply(usual());
    const i = person(key);
    const company = { domain: `works-${i % 4}.example` };
    reply({ status: 200, body: JSON.stringify({ name: `Person ${i}`, company, ...(i % 3 === 0 ? {} : { mobile: numberOf(i) }) }) });
  };
  const numbers = await start(startNumbers);
  await Promise.all([
    writePeople(folder, PEOPLE),
    writeJob(folder, {
      providers: {
        service: { use: 'millrace', baseUrl: service.url, plan: 'enterprise' },
        numbers: { use: definition('numbers'), baseUrl: numbers.url },
      },
      steps,
      ...more,
    }),
  ]);
  return { folder, service, numbers };
}

const FOUND = [{ enrich: {} }, { phone: { by: ['enrich.mobile', 'phone'] } }] as const;

describe('a step that a definition declares', () => {
  test('a custom step looks up what an earlier step found, and has its columns behind all others', async () => {
    const { folder, numbers } = await customJob(FOUND);
    const planned = JSON.parse((await folder.run(['plan', 'job.yaml', '--json'], env)).stdout) as Record<string, unknown>;
    expect(planned).toMatchObject({ requests: { enrich: PEOPLE, phone: PEOPLE }, providers: { numbers: { steps: { phone: {} } } } });
    expect(await folder.run(RUN, env)).toMatchObject({ code: 0, stderr: '' });
    const [head = ''] = (await folder.read('out.csv')).split('\n');
    expect(head.split(',').slice(-6)).toEqual([
      'phone.number',
      'phone.line_type',
      'phone.carrier',
      'phone.roaming',
      'enrich.source',
      'phone.source',
    ]);
    const asked = PEOPLE - PEOPLE / 3;
    expect(numbers.counts).toMatchObject({ requests: asked, charged: asked - asked / 10 });
    for (const [i, row] of (await rowsOf(folder)).entries()) {
      const isKnown = i % 3 !== 0 && i % 10 !== 9;
      expect([i, row['result.outcome'], row['phone.line_type'], row['phone.roaming']]).toEqual([
        i,
        'matched',
        isKnown ? ['mobile', 'landline', 'voip'][i % 3] : '',
        isKnown ? String(i % 5 === 0) : '',
      ]);
      expect(row['phone.source']).toBe(isKnown ? 'number=numbers;line_type=numbers;carrier=numbers;roaming=numbers' : '');
    }
    const report = await folder.json('out.csv.report.json');
    expect(report).toMatchObject({
      calls: { enrich: PEOPLE, phone: asked },
      providers: { numbers: { steps: { phone: { asked } }, credits: numbers.counts.charged } },
    });
    expect(schemaFaults(report)).toEqual([]);
  });

  test('a kept ledger answers a custom step in another job, and the plan says so', async () => {
    const ledger = { uri: 'answers.ledger', maxAgeDays: 30 };
    const { folder, numbers } = await customJob(FOUND, { ledger });
    await folder.run(RUN, env);
    const { charged, requests } = numbers.counts;
    const again = ['--output', 'again.csv', '--name', 'again'];
    const planned = JSON.parse((await folder.run(['plan', 'job.yaml', '--json', ...again], env)).stdout) as { requests: { total: number } };
    expect(planned.requests.total).toBe(0);
    expect(await folder.run([...RUN, ...again], env)).toMatchObject({ code: 0 });
    expect(numbers.counts).toMatchObject({ charged, requests });
    expect(await folder.read('again.csv')).toBe(await folder.read('out.csv'));
  });

  test('a custom step decides the outcome of a record for which no other step has a key, where it declares so', async () => {
    const { folder, numbers } = await customJob(['technologies']);
    await writeFile(folder.at('in.csv'), 'domain\ncompany-1.example\nnobody.example\n-\n');
    expect(await folder.run(RUN, env)).toMatchObject({ code: 78, stderr: expect.stringContaining('providers.service: no step asks') });
    await writeJob(folder, { providers: { numbers: { use: definition('numbers'), baseUrl: numbers.url } }, steps: ['technologies'] });
    expect(await folder.run(RUN, { env: keys('numbers') })).toMatchObject({ code: 0, stderr: '' });
    const rows = await rowsOf(folder);
    expect(rows.map((row) => [row['result.outcome'], row['technologies.items'], row['technologies.score']])).toEqual([
      ['matched', 'Linux;Tool 1', '0.25'],
      ['no_match', '', ''],
      ['invalid', '', ''],
    ]);
    expect(numbers.counts.charged).toBe(1);
    expect((await checkpoint(folder)).providers?.['numbers']?.totals.credits).toBe(1);
  });

  test('a custom step has its record in JSON lines', async () => {
    const { folder } = await customJob(FOUND, { output: { uri: 'out.jsonl' }, ledger: { uri: 'answers.ledger', maxAgeDays: 30 } });
    await folder.run(RUN, env);
    const lines = (await folder.read('out.jsonl'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(Object.keys(lines[1] ?? {})).toEqual(['input', 'result', 'enrich', 'phone']);
    expect(lines[1]?.['phone']).toEqual({
      number: numberOf(1),
      line_type: 'landline',
      carrier: 'Carrier 1',
      roaming: false,
      source: { number: 'numbers', line_type: 'numbers', carrier: 'numbers', roaming: 'numbers' },
    });
    expect(lines[0]?.['phone']).toBeNull();
  });
});

test('several providers of a custom step fill one record, and a Parquet output has the types that the definition declares', async () => {
  const { folder, numbers } = await customJob([]);
  const more = await start(startNumbers, { knows: () => true });
  const other = `name: other\nuse: ${definition('numbers')}\noperations: {phone: {columns: null, record: {line_type: null}}}\n`;
  await writeFile(folder.at('other.yaml'), other);
  const phones = Array.from({ length: 10 }, (_, i) => `person-${i}@company-0.example,${numberOf(i)},company-0.example`);
  await writeFile(folder.at('in.csv'), `email,phone,website\n${phones.join('\n')}\n`);
  await writeJob(folder, {
    providers: {
      other: { use: './other.yaml', baseUrl: more.url },
      numbers: { use: definition('numbers'), baseUrl: numbers.url },
    },
    steps: [{ phone: { from: ['other', 'numbers'], until: ['line_type'] } }, 'technologies'],
    output: { uri: 'out.parquet' },
  });
  expect(await folder.run(RUN, { env: keys('other', 'numbers') })).toMatchObject({ code: 0 });
  const path = folder.at('out.parquet');
  const file = { uri: path, path, size: (await stat(path)).size, digest: '' };
  const { columns } = await readFooter(file);
  const typeOf = (name: string): string | undefined => columns.find((column) => column.name === name)?.type.type;
  expect(['phone.line_type', 'phone.roaming', 'technologies.score', 'technologies.items'].map(typeOf)).toEqual([
    'BYTE_ARRAY',
    'BOOLEAN',
    'DOUBLE',
    'BYTE_ARRAY',
  ]);
  for await (const { columns: cells } of readParquetRows(file, 0)) {
    const at = (name: string): unknown => cells[columns.findIndex((column) => column.name === name)]?.[1];
    expect([at('phone.line_type'), at('phone.roaming'), at('technologies.score')]).toEqual(['landline', false, 0.25]);
    expect(at('phone.source')).toBe('number=other;carrier=other;roaming=other;line_type=numbers');
  }
});

/** The lookups that a plan expects before anything is known, and once enrich has found the numbers. */
async function expectPlans(uri: string): Promise<void> {
  const ledger = { uri, maxAgeDays: 30 };
  const { folder, service, numbers } = await customJob(FOUND, { ledger });
  const plan = async (): Promise<unknown> => JSON.parse((await folder.run(['plan', 'job.yaml', '--json'], env)).stdout);
  expect(await plan()).toMatchObject({ requests: { enrich: PEOPLE, phone: PEOPLE } });
  const job = await folder.read('job.yaml');
  const providers = { service: { use: 'millrace', baseUrl: service.url, plan: 'enterprise' } };
  await writeJob(folder, { providers, steps: ['enrich'], ledger, output: { uri: 'first.csv' } });
  expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
  await writeFile(folder.at('job.yaml'), job);
  expect(await plan()).toMatchObject({ requests: { enrich: 0, phone: PEOPLE - PEOPLE / 3 } });
  expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
  expect(numbers.counts.requests).toBe(PEOPLE - PEOPLE / 3);
}

test('a plan knows the lookups by keys that the ledger has found', () => expectPlans('answers.ledger'));

await describeWith('redis', 'a ledger in Redis', async (redis) => {
  test('a plan knows the lookups by keys that the ledger has found', async () => expectPlans(await freeDatabase(redis)));
});

test('steps are done in the order of the job: a company by the domain that enrich found, verdicts first', async () => {
  const { folder, service } = await customJob(['verify', 'enrich', { company: { from: ['service'] } }], {
    company: { by: ['enrich.company.domain', 'domain'] },
  });
  await writeJob(folder, {
    providers: { service: { use: 'millrace', baseUrl: service.url, plan: 'enterprise' } },
    steps: ['verify', 'enrich', 'company'],
    company: { by: ['enrich.company.domain', 'domain'] },
  });
  expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
  expect(service.requests[0]?.path).toBe('verify');
  const companies = service.requests.filter(({ path }) => path === 'company').flatMap(({ keys: asked }) => asked);
  expect(companies.toSorted()).toEqual(['works-0.example', 'works-1.example', 'works-2.example', 'works-3.example']);
});

test.each([
  ['a job without the definition', ['enrich', 'phones'], /there is no step "phones"; did you mean phone\?/],
  ['a later step', [{ phone: { by: ['enrich.mobile'] } }, 'enrich'], /enrich\.mobile cannot be known: the step enrich is not done before/],
  ['a field that is no key', ['enrich', { phone: { by: ['enrich.title'] } }], /phone\.by: enrich\.title is no key/],
  ['a step named twice', ['enrich', 'phone', 'phone'], /the step phone is named twice/],
  ['a rule with an unknown key', ['enrich', { phone: { buy: ['phone'] } }], /phone has no key buy; did you mean by\?/],
  ['only steps that decide nothing', ['phone'], /no step of this job decides the outcome of a row: phone/],
  ['a wanted field that is misspelt', ['enrich', { phone: { until: ['line_typ'] } }], /line_typ.*did you mean line_type\?/],
] as const)('%s is refused before anything is paid', async (_, steps, message) => {
  const { folder, numbers } = await customJob(steps);
  expect(await folder.run(RUN, env)).toMatchObject({ code: 78, stderr: expect.stringMatching(message) });
  expect(numbers.counts.requests).toBe(0);
});
