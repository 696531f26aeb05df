/** Answers of the sample service say nothing about real people, and every place that shows them says so. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { startService } from '../../src/service/app/start-service.ts';
import { SAMPLE_KEY } from '../../src/service/sample/sample-store.ts';
import type { Report } from '../../src/job/report/report.ts';
import { schemaFaults } from '../support/report-schema.ts';
import { flags, makeFolder } from '../support/world.ts';
import { cleanUp } from '../support/clean-up.ts';

/** More strangers than the misses after which a run would stop. */
const STRANGERS = Array.from({ length: 120 }, (_, n) => `lead${n}@firm${n}.com`);

const SERVICES: readonly (readonly [string, () => Promise<{ given: Record<string, string | true>; env: Record<string, string> }>])[] = [
  ['--embedded', async () => ({ given: { embedded: true }, env: {} })],
  [
    'a service that serves the sample',
    async () => {
      const folder = await makeFolder();
      const service = await startService({ store: folder.at('sample.sqlite'), sample: true });
      cleanUp(() => service.close());
      return { given: { 'base-url': service.url }, env: { MILLRACE_API_KEY: SAMPLE_KEY } };
    },
  ],
];

test.each(SERVICES)('%s knows none of the people, and no place takes that for a verdict', async (_, start) => {
  const { given, env } = await start();
  const folder = await makeFolder();
  await writeFile(folder.at('in.csv'), `Email\n${STRANGERS.join('\n')}\n`);
  const job = flags({ input: 'in.csv', output: 'out.csv', plan: 'enterprise', ...given });

  const run = await folder.run(['run', ...job], { env });
  expect(run).toMatchObject({ code: 0 });
  expect(run.stderr.match(/"event":"sample_data"/g)).toHaveLength(1);
  expect(run.stderr).not.toContain('--base-url: ');
  expect(run.stderr).not.toContain('misses_alone');

  const rows = (await folder.read('out.csv')).trim().split('\n');
  expect(rows).toHaveLength(121);
  for (const row of rows.slice(1)) expect(row).toMatch(/,no_match,.*,unknown,30,not_in_sample,/);

  const report = (await folder.json('out.csv.report.json')) as unknown as Report;
  expect(schemaFaults(report)).toEqual([]);
  expect(report).toMatchObject({ sampleData: true, verification: { unknown: 120 } });
  expect(await folder.read('out.csv.report.html')).toContain('sample data');
  expect((await folder.run(['status', ...job], { env })).stdout).toContain('sample data');
  expect((await folder.run(['plan', ...job], { env })).stdout).toMatch(/^warning +sample data/m);
  const { stderr } = await folder.run(['verify', ...flags(given), STRANGERS[0] ?? ''], { env });
  expect(stderr).toMatch(/^millrace: sample data/m);
});

test('a job whose answers all come from a kept ledger says that they are sample data, in its plan too', async () => {
  const folder = await makeFolder();
  const service = await startService({ store: folder.at('sample.sqlite'), sample: true });
  cleanUp(() => service.close());
  await writeFile(folder.at('in.csv'), `Email\n${STRANGERS.slice(0, 3).join('\n')}\n`);
  const env = { MILLRACE_API_KEY: SAMPLE_KEY };
  const job = (output: string): string[] => [
    ...flags({ input: 'in.csv', output, plan: 'enterprise', steps: 'enrich', 'base-url': service.url, ledger: 'kept.ledger' }),
    '--ledger.maxAgeDays',
    '30',
  ];
  expect(await folder.run(['run', ...job('first.csv')], { env })).toMatchObject({ code: 0 });
  expect((await folder.run(['plan', ...job('second.csv')], { env })).stdout).toMatch(/^warning +sample data/m);
  const second = await folder.run(['run', ...job('second.csv')], { env });
  expect(second).toMatchObject({ code: 0 });
  expect(second.stderr.match(/"event":"sample_data"/g)).toHaveLength(1);
  const report = (await folder.json('second.csv.report.json')) as unknown as Report;
  expect(report).toMatchObject({ sampleData: true, lookups: { unique: 3, fromLedger: 3 } });
});
