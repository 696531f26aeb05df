import { expect, test } from 'vitest';
import { readLedger } from '../support/crash-site.ts';
import { csvJob } from '../support/crash-jobs.ts';
import { leads } from '../support/leads.ts';
import type { Asked } from '../support/scripted-service.ts';
import { prepare } from './crashed-job.ts';

const WAIT_MS = 400;

/** At the first request, the service has no verdict yet for one address in seven. */
const isLate = (email: string): boolean => /[07]/.test(email.split('@')[0]?.slice(-1) ?? '');

test('pending verdicts are asked for again within the quota; after a kill the same request is sent and nothing is paid twice', async () => {
  const rows = leads(1_500, 21);
  const { folder, service, args } = await prepare(csvJob(rows, { steps: 'verify', 'verify.patienceMs': '60000', concurrency: '8' }));
  const isAgain = ({ keys }: Asked): boolean => keys.every(isLate);
  let answersAgain = false;
  service.script = (asked, _response, reply) => {
    if (isAgain(asked) && !answersAgain) return;
    const said = (email: string): object =>
      isLate(email) && !isAgain(asked)
        ? {
            email,
            result: 'unknown',
            reason: 'greylisted',
            verified_at: new Date().toISOString(),
            retry_at: new Date(Date.now() + WAIT_MS).toISOString(),
          }
        : { email, result: 'deliverable', confidence: 97, reason: 'accepted' };
    reply({ status: 200, body: JSON.stringify({ data: asked.keys.map(said) }) });
  };
  const first = folder.start(args);
  await service.when(() => service.requests.filter(isAgain).length === 2);
  const lost = service.requests.filter(isAgain);
  const settled = new Set(service.requests.flatMap(({ keys }) => keys));
  while ((await readLedger(folder.at('out.csv.ledger'))).names.size < settled.size) await new Promise((resolve) => setImmediate(resolve));
  first.kill('SIGKILL');
  await first.ended;

  const before = service.requests.length;
  answersAgain = true;
  expect(await folder.run(args)).toMatchObject({ code: 0 });
  const wire = ({ body, idempotencyKey }: Asked): string => `${idempotencyKey} ${body}`;
  expect(service.requests.slice(before).map(wire).sort()).toEqual(lost.map(wire).sort());
  const report = await folder.json('out.csv.report.json');
  const verification = report['verification'] as Record<string, number>;
  expect([verification['deliverable'], verification['unknown'] ?? 0]).toEqual([(report['records'] as { matched: number }).matched, 0]);
  expect(report['lookups']).toMatchObject({ unique: settled.size });
  expect(await folder.run(args)).toMatchObject({ code: 0 });
  expect(service.requests.length).toBe(before + lost.length);
});
