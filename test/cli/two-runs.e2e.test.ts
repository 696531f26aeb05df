import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld, type World } from '../support/world.ts';

const ROWS = leads(200, 71);
const RUN = { 'max-errors': '100%', steps: 'enrich', progress: 'log' } as const;

/** A run that gets 50 answers and then waits, and a second run that waits for its lock. */
async function twoRuns(): Promise<World & { first: ReturnType<World['folder']['start']>; second: ReturnType<World['folder']['start']> }> {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  service.script = (asked, _response, reply, usual) => {
    if (asked.number <= 50) reply(usual());
  };
  const first = folder.start(args(RUN));
  await service.when(() => service.answered === 50 && service.unanswered.size > 0);
  const second = folder.start(args(RUN));
  await second.says('"job_held"');
  return { ...world, first, second };
}

test('a second run of a job waits, names the holder, changes no file, and ends with 75', async () => {
  const { folder, service, first, second, args } = await twoRuns();
  const partial = await readFile(folder.at('out.csv.partial'));
  second.kill('SIGTERM');
  const left = await second.ended;
  expect(left.code).toBe(75);
  expect(left.stderr).toMatch(
    new RegExp(String.raw`^millrace: another run holds this job: process ${first.child.pid} on \S+, since \d{4}-.*\n  Wait for it`, 'm'),
  );
  expect(service.requests.length).toBe(50 + service.unanswered.size);
  expect((await readFile(folder.at('out.csv.partial'))).subarray(0, partial.length)).toEqual(partial);
  const status = await folder.run(['status', '--input', 'in.csv', '--output', 'out.csv', '--embedded']);
  expect(status.stdout).toContain(`running by process ${first.child.pid} on`);
  // The first run is not disturbed.
  first.kill('SIGTERM');
  first.kill('SIGINT');
  expect((await first.ended).code).toBe(75);
  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect((await folder.run(args(RUN))).code).toBe(0);
  expect(await folder.files()).not.toContain('out.csv.checkpoint.json.lock');
});

test('a waiting run takes over at once when the holder dies', async () => {
  const { folder, service, first, second } = await twoRuns();
  const held = service.unanswered.size;
  first.kill('SIGKILL');
  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect((await second.ended).code).toBe(0);
  expect(service.repeated).toBeLessThanOrEqual(held + 50);
  expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: ROWS.length });
});
