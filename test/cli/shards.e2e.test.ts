import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld } from '../support/world.ts';

const ROWS = leads(240, 31);
const RUN = { 'max-errors': '100%', steps: 'enrich', progress: 'log' } as const;
const LEFT = /\.partial|\.lock|\.tmp$|shard/;

test('four concurrent shards, one killed and restarted, give the bytes of one run, with status and refusals meanwhile', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  expect(await folder.run(args({ ...RUN, output: 'whole.csv' }))).toMatchObject({ code: 0 });
  const single = await readFile(folder.at('whole.csv'));
  service.forget();
  const say = (command: string, more: Readonly<Record<string, string | boolean>>): string[] => [
    command,
    ...args({ steps: 'enrich', progress: false, ...more }).slice(1),
  ];
  // No shard gets beyond its first calls before all have begun.
  const held: (() => void)[] = [];
  service.script = (_asked, _response, reply, usual) => held.push(() => reply(usual()));
  const shards = [0, 1, 2, 3].map((index) => folder.start(args({ ...RUN, concurrency: '4', shard: `${index}/4` })));
  await service.when(() => service.unanswered.size === 16);
  const status = JSON.parse((await folder.run(say('status', { json: true }))).stdout) as Record<string, unknown>;
  expect(status).toMatchObject({ job: 'out', state: 'running', position: null, share: 0 });
  expect(status['shards']).toEqual(
    [0, 1, 2, 3].map((index) => ({
      shard: `${index}/4`,
      state: 'running',
      rows: expect.any(Number),
      of: expect.any(Number),
      updatedAt: expect.any(String),
    })),
  );
  expect(JSON.parse((await folder.run(say('plan', { shard: '1/4', json: true, plan: false, rpm: '400' }))).stdout)).toMatchObject({
    shard: '1/4',
    start: 'resume',
    rpm: 100,
    records: (status['shards'] as { of: number }[])[1]?.of,
    heldBy: { pid: shards[1]?.child.pid },
  });
  expect(await folder.run(args(RUN))).toMatchObject({
    code: 78,
    stderr: expect.stringContaining('this job is under way in 4 shards, and cannot go on in one piece'),
  });

  shards[2]?.kill('SIGKILL');
  await shards[2]?.ended;
  service.script = (_asked, _response, reply, usual) => reply(usual());
  for (const answer of held) answer();
  const again = folder.start(args({ ...RUN, shard: '2/4' })).ended;
  const ended = await Promise.all([0, 1, 2, 3].map((index) => (index === 2 ? again : (shards[index]?.ended ?? again))));
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(ended.filter(({ stderr }) => stderr.includes('"joining"'))).toHaveLength(1);
  expect(await readFile(folder.at('out.csv'))).toEqual(single);
  const lines = async (name: string): Promise<unknown[]> =>
    (await folder.read(name))
      .trimEnd()
      .split('\n')
      .map((line) => ({ ...(JSON.parse(line) as object), requestId: null }));
  expect(await lines('out.csv.errors.jsonl')).toEqual(await lines('whole.csv.errors.jsonl'));
  expect((await folder.files()).filter((name) => LEFT.test(name))).toEqual([]);
});
