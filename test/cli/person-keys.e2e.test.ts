/** Lookups by name, phone and profile: `enrich.by`, `reveal.by`, `enrich.minLikelihood`, `enrich.required`. */
import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { flags, makeFolder, makeWorld } from '../support/world.ts';
import { plan } from './planned.ts';

const HEADER = 'Vorname,Nachname,Firma,Website,Telefon,E-Mail\n';
const ROWS = `${HEADER}Zoë,Adams,,acme.example,,
 ZOE , adams ,,https://www.acme.example/,,
,,,,+1 (212) 555-0100,
,,,,0012125550100,
,,,,030 1234,
Zoe,,,acme.example,,
,,,,+12125550199,eva@works.example
`;
const BY = { 'enrich.by': 'email,phone,name' };

test('one person in several spellings is looked up once, as plan says, and the address that is found is verified', async () => {
  const world = await makeWorld(ROWS);
  const { folder, service, args } = world;
  const planned = await plan(world, BY);
  expect(planned).toMatchObject({ records: 7, invalid: 2, requests: { enrich: 3, verify: 1 } });
  const more = { 'enrich.minLikelihood': '80', 'enrich.required': 'title,email', 'output.fields': '{"Outcome":"result.outcome"}' };
  expect(await folder.run(args({ ...BY, ...more }))).toMatchObject({ code: 0 });
  const options = '"min_likelihood":80,"required":["email","title"]}';
  expect(
    service.requests
      .map(({ body }) => body)
      .slice(0, 3)
      .toSorted(),
  ).toEqual([
    `{"email":"eva@works.example",${options}`,
    `{"name":"zoe adams","domain":"acme.example",${options}`,
    `{"phone":"+12125550100",${options}`,
  ]);
  expect(service.repeated).toBe(0);
  const verified = service.requests.filter(({ path }) => path === 'verify').flatMap(({ keys }) => keys);
  expect(verified).toEqual([expect.stringMatching(/^found/), expect.stringMatching(/^found/), 'eva@works.example']);
  const outcomes = (await folder.read('out.csv'))
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((row) => row.split(',').at(-1));
  expect(outcomes).toEqual(['matched', 'matched', 'matched', 'matched', 'invalid', 'invalid', 'matched']);
  const errors = (await folder.read('out.csv.errors.jsonl'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { code: string });
  expect(errors.map(({ code }) => code)).toEqual(['bad_phone', 'no_key']);
});

test('a kept ledger knows a person by name, and another likelihood is another lookup', async () => {
  const { folder, service, args } = await makeWorld('Name,Website\nZoë Adams,acme.example\n');
  const job = { steps: 'enrich', 'enrich.by': 'name', ledger: 'kept.ledger', 'ledger.maxAgeDays': '9', 'limits.trustMisses': true };
  expect(await folder.run(args({ ...job, output: 'a.csv' }))).toMatchObject({ code: 0 });
  expect(await folder.run(args({ ...job, output: 'b.csv' }))).toMatchObject({ code: 0 });
  expect(service.calls.enrich).toBe(1);
  expect(await folder.run(args({ ...job, output: 'c.csv', 'enrich.minLikelihood': '50' }))).toMatchObject({ code: 0 });
  expect(service.calls.enrich).toBe(2);
});

test('a failed lookup by name says whom it was for, and a retry asks again', async () => {
  const { folder, service, args } = await makeWorld();
  await writeFile(folder.at('in.jsonl'), '{"full_name":"refused Person","company_domain":"acme.example"}\n');
  const job = { input: 'in.jsonl', output: 'out.jsonl', 'enrich.by': 'name', 'max-errors': '100%', 'limits.trustMisses': true };
  expect(await folder.run(args(job))).toMatchObject({ code: 0 });
  expect(await folder.read('out.jsonl.errors.jsonl')).toContain('"key":"refused person at acme.example"');
  const [, ...rest] = args(job);
  expect(await folder.run(['retry', ...rest])).toMatchObject({ code: 0 });
  expect(service.calls.enrich).toBe(2);
});

test('reveal finds a person by name and company', async () => {
  const { folder, service, args } = await makeWorld('Full Name,Company\nZoë Adams,ACME  Inc\nBob,\n');
  expect(await folder.run(args({ steps: 'reveal', 'reveal.by': 'linkedin_url,name' }))).toMatchObject({ code: 0 });
  expect(service.requests.map(({ body }) => body)).toEqual(['{"name":"zoe adams","company":"acme inc"}']);
});

test('a name without a place to look for is refused before anything is called, and an idle column is reported', async () => {
  const { folder, service, args } = await makeWorld('Full Name,Company\nZoë Adams,ACME\n');
  expect(await folder.run(args({ 'enrich.by': 'name' }))).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('no column of name with domain for the step enrich'),
  });
  expect(await folder.run(args())).toMatchObject({ code: 65, stderr: expect.stringContaining('enrich.by or reveal.by') });
  expect(await folder.run(args({ 'enrich.by': 'name,name' }))).toMatchObject({ code: 64 });
  expect(service.requests).toEqual([]);
  await writeFile(folder.at('in.csv'), 'email,Tel\na1@works.example,\n');
  expect(await folder.run(args({ 'input.columns.phone': 'Tel', progress: 'log' }))).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('input.columns.phone is not used'),
  });
});

test('the service of this package answers the same request', async () => {
  const folder = await makeFolder();
  await writeFile(
    folder.at('in.csv'),
    'Contact,Domain,Mobile\nimani IRVING,cobalt-materials.example,\nNo Body,cobalt-materials.example,+12125550100\n',
  );
  const job = { input: 'in.csv', output: 'out.csv', embedded: true, steps: 'enrich', 'enrich.by': 'name', progress: 'none' };
  expect(
    await folder.run(['run', ...flags({ ...job, 'output.fields': '{"Name":"enrich.name","How":"enrich.matched_on"}' })]),
  ).toMatchObject({
    code: 0,
  });
  expect((await folder.read('out.csv')).split('\n')[1]).toBe('imani IRVING,cobalt-materials.example,,Imani Irving,name;domain');
});

test('two steps with the same key of a record are two requests, which the service of this package answers each', async () => {
  const folder = await makeFolder();
  const people = await readFile(new URL('../../fixtures/leads.csv', import.meta.url), 'utf8');
  await writeFile(folder.at('in.csv'), people.split('\n').slice(0, 6).join('\n'));
  const job = { input: 'in.csv', output: 'out.csv', embedded: true, steps: 'enrich,reveal', 'reveal.by': 'email', progress: 'none' };
  expect(await folder.run(['run', ...flags(job)])).toMatchObject({ code: 0 });
  expect(await folder.read('out.csv')).not.toContain('idempotency');
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ failed: 0 });
});
