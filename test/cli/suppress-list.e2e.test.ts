/** `suppress`: a list of people who are never asked about. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { makeBucket, s3Environment } from '../s3/bucket.ts';
import { describeWith } from '../services/needed.ts';
import { plan } from './planned.ts';
import { makeWorld } from '../support/world.ts';

const ROWS = Array.from({ length: 8 }, (_, i) => `person-${i}@works.example,works-${i}.example`);
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const LIST = ['address', '# a remark', 'Person-1@Works.example', digest('person-2@works.example'), 'hidden@works.example', ''].join('\n');
/** The third cell of each row; other cells have line ends. */
const OUTCOME = /^[^,\n]*,works-\d\.example,(\w+)/gm;
const outcomes = (text: string): string[] => [...text.matchAll(OUTCOME)].map(([, outcome = '']) => outcome);

/** The person behind row 5's domain is on the list: enrich finds the address. */
async function listed(rows = ROWS) {
  const world = await makeWorld(`email,website\n${rows.join('\n')}\n`);
  const { service, folder } = world;
  service.script = ({ path, keys: [key = ''] }, _response, reply, usual) => {
    if (path !== 'enrich' || !key.includes('works-5')) return reply(usual());
    reply({ status: 200, body: JSON.stringify({ name: 'Found', email: 'Hidden@works.example' }) });
  };
  await writeFile(folder.at('never.txt'), LIST);
  return world;
}

test('people on the list are asked nothing about, and an answer with their address leaves nothing in the row', async () => {
  const rows = ROWS.map((row, i) => (i === 5 ? `,works-5.example` : row));
  const { folder, service, args } = await listed(rows);
  const flags = { suppress: 'never.txt', steps: 'enrich,verify' };
  expect(await plan({ folder, service, args }, flags)).toMatchObject({ suppressed: 2, requests: { enrich: 6 } });
  expect(await folder.run(args(flags))).toMatchObject({ code: 0 });
  const asked = service.requests.flatMap(({ keys }) => keys);
  expect(asked.filter((key) => /person-[12]@|hidden/i.test(key))).toEqual([]);
  const output = await folder.read('out.csv');
  expect(outcomes(output)).toEqual(['matched', 'suppressed', 'suppressed', 'matched', 'matched', 'suppressed', 'matched', 'matched']);
  expect(output).not.toMatch(/hidden|Found/i);
  expect(await folder.json('out.csv.report.json')).toMatchObject({ records: { suppressed: 3, matched: 5 } });
});

test('the list may grow between a stop and its resume, and a retry keeps to it', async () => {
  const { folder, service, args } = await listed();
  await folder.run(args({ steps: 'enrich', progress: 'none', limit: '4' }));
  await writeFile(folder.at('never.txt'), 'person-6@works.example\n');
  expect(await folder.run(args({ steps: 'enrich', progress: 'none', suppress: 'never.txt' }))).toMatchObject({ code: 0 });
  expect(outcomes(await folder.read('out.csv'))[6]).toBe('suppressed');
  expect(service.requests.flatMap(({ keys }) => keys)).not.toContain('person-6@works.example');
});

test.each([
  ['none.txt', null, /none\.txt cannot be used: There is no input none\.txt/],
  ['never.txt', 'person-1@works.example\nnot an address\n', /line 2 is neither an address nor a SHA-256 digest/],
])('a list %s that cannot be used ends the run before anything is asked (65)', async (name, content, message) => {
  const { folder, service, args } = await listed();
  if (content !== null) await writeFile(folder.at(name), content);
  expect(await folder.run(args({ suppress: name, steps: 'enrich', progress: 'none' }))).toMatchObject({
    code: 65,
    stderr: expect.stringMatching(message),
  });
  expect(service.requests).toEqual([]);
});

await describeWith('s3', 'a list in S3', async (facts) => {
  test('people on a list in S3 are asked nothing about', async () => {
    const bucket = await makeBucket(facts);
    await bucket.put('never.txt', Buffer.from(LIST));
    const { folder, service, args } = await listed();
    const run = args({ suppress: `s3://${bucket.name}/never.txt`, steps: 'enrich', progress: 'none' });
    expect(await folder.run(run, { env: s3Environment(facts) })).toMatchObject({ code: 0 });
    expect(service.requests.flatMap(({ keys }) => keys)).toHaveLength(6);
  });
});
