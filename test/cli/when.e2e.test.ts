/** Steps that only some records have: `when`, over columns and results. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { schemaFaults } from '../support/report-schema.ts';
import { makeWorld } from '../support/world.ts';

const COUNTRIES = ['DE', 'AT', 'FR', 'DE'];
const ROWS = Array.from({ length: 40 }, (_, i) => `person-${i}@works.example,${COUNTRIES[i % 4]}`);
const WHEN = "input.Country in ['DE', 'AT'] and enrich.company.employees >= 50";

/** Every third person is of a small company. */
async function world(steps: readonly unknown[]) {
  const { folder, service, args } = await makeWorld(`email,Country\n${ROWS.join('\n')}\n`);
  service.script = ({ path, keys: [key = ''] }, _response, reply, usual) => {
    if (path !== 'enrich') return reply(usual());
    const body = JSON.parse(String(usual().body)) as { company: object };
    const employees = Number(/\d+/.exec(key)?.[0]) % 3 === 0 ? 20 : 1_200;
    reply({ status: 200, body: JSON.stringify({ ...body, company: { ...body.company, employees } }) });
  };
  const job = { input: { uri: 'in.csv' }, output: { uri: 'out.csv' }, service: { baseUrl: service.url, plan: 'enterprise' }, steps };
  await writeFile(folder.at('job.yaml'), JSON.stringify(job));
  return { folder, service, args };
}

const meant = ROWS.flatMap((row, i) => (i % 4 !== 2 && i % 3 !== 0 ? [row.slice(0, row.indexOf(','))] : []));

test('only records that the condition holds for are verified, the others are counted, and the plan says no less', async () => {
  const { folder, service } = await world(['enrich', { verify: { when: WHEN } }]);
  const planned = JSON.parse((await folder.run(['plan', 'job.yaml', '--json'])).stdout) as { requests: { verify: number } };
  expect(await folder.run(['run', 'job.yaml', '--progress', 'none'])).toMatchObject({ code: 0, stderr: '' });
  const asked = service.requests.filter(({ path }) => path === 'verify').flatMap(({ keys }) => keys);
  expect(asked.toSorted()).toEqual(meant.toSorted());
  expect(planned.requests.verify).toBe(1);
  const report = await folder.json('out.csv.report.json');
  expect(report).toMatchObject({ records: { total: 40, matched: 40 }, skippedSteps: { verify: { when: 40 - meant.length } } });
  expect(schemaFaults(report)).toEqual([]);
});

test('a job with a condition that is killed twice gives the bytes of an uninterrupted run, and asks for no lookup twice', async () => {
  const steps = ['enrich', { verify: { when: WHEN } }];
  const calm = await world(steps);
  await calm.folder.run(['run', 'job.yaml', '--progress', 'none']);
  const { folder, service } = await world(steps);
  service.latencyMs = 5;
  for (const answers of [8, 24]) {
    const run = folder.start(['run', 'job.yaml', '--progress', 'none', '--concurrency', '2']);
    await service.when(() => service.answered >= answers);
    run.kill('SIGKILL');
    await run.ended;
  }
  expect(await folder.run(['run', 'job.yaml', '--progress', 'none'])).toMatchObject({ code: 0 });
  expect(await folder.read('out.csv')).toBe(await calm.folder.read('out.csv'));
  expect((await folder.json('out.csv.report.json'))['skippedSteps']).toEqual(
    (await calm.folder.json('out.csv.report.json'))['skippedSteps'],
  );
});

test('a record for which no step is meant is skipped, and costs nothing', async () => {
  const { folder, service } = await world([{ enrich: { when: "input.Country = 'FR'" } }]);
  expect(await folder.run(['run', 'job.yaml', '--progress', 'none'])).toMatchObject({ code: 0 });
  expect(service.requests.length).toBe(10);
  expect(await folder.json('out.csv.report.json')).toMatchObject({
    records: { total: 40, matched: 10, skipped: 30 },
    skippedSteps: { enrich: { when: 30 } },
  });
});

test('a column that no file has is refused with the nearest, before anything is called', async () => {
  const { folder, service } = await world(['enrich', { verify: { when: "input.Contry = 'DE'" } }]);
  expect(await folder.run(['run', 'job.yaml', '--progress', 'none'])).toMatchObject({
    code: 78,
    stderr: expect.stringMatching(/verify\.when names input\.Contry, and the input has no such column.*"Country"/s),
  });
  expect(service.requests).toEqual([]);
});
