/** Files of a stopped job that are gone when it is resumed. */
import { mkdir, rename, rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld, type World } from '../support/world.ts';

const ROWS = leads(400, 3);
const APART = {
  output: 'volume/out.csv',
  checkpoint: 'state/checkpoint.json',
  ledger: 'state/answers.ledger',
  'max-errors': '100%',
  concurrency: '4',
};

/** A run that ends by this signal after half of its requests. */
async function stopped({ folder, service, args }: World, signal: NodeJS.Signals): Promise<void> {
  service.latencyMs = 5;
  const first = folder.start(args(APART));
  await service.sees(200);
  first.kill(signal);
  await first.ended;
}

test('the folder of the output is not made anew: the job resumes when it is back', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  await stopped(world, 'SIGTERM');
  await rename(folder.at('volume'), folder.at('unmounted'));
  const asked = service.requests.length;
  const refused = await folder.run(args(APART));
  expect(refused).toMatchObject({ code: 74, stderr: expect.stringContaining('volume is gone, and with it the rows') as string });
  expect(await folder.files()).not.toContain('volume');
  expect(service.requests.length).toBe(asked);
  await rename(folder.at('unmounted'), folder.at('volume'));
  expect(await folder.run(args(APART))).toMatchObject({ code: 0, stderr: '' });
  expect([...service.asked].filter(([, times]) => times > 1)).toEqual([]);
});

test('an empty folder in its place has the rows written again, from the ledger', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  await stopped(world, 'SIGTERM');
  await rm(folder.at('volume'), { recursive: true });
  await mkdir(folder.at('volume'));
  const ended = await folder.run(args(APART));
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('its rows are written again, from the ledger') as string });
  expect([...service.asked].filter(([, times]) => times > 1)).toEqual([]);
});

test.each([
  ['SIGTERM', 'state/answers.ledger', 'answers.ledger is gone: what was paid for is asked for again where its row is not written yet'],
  ['SIGKILL', 'state/answers.ledger-wal', 'answers.ledger-wal is gone: what was paid for is asked for again'],
] as const)('after %s, a resume says that %s is gone, and goes on', async (signal, lost, said) => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, args } = world;
  await stopped(world, signal);
  await rm(folder.at(lost));
  const ended = await folder.run(args(APART));
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining(said) as string });
});
