/** A server that is not the data service, and one that knows nobody. */
import { describe, expect, test } from 'vitest';
import { durableLookups } from '../support/crash-site.ts';
import { sampleOf } from '../support/sample.ts';
import { problem, type Reply, type Script } from '../support/scripted-service.ts';
import { makeWorld } from '../support/world.ts';
import { report } from './adds-up.ts';
import { people } from './people.ts';

describe('a server that may not be the data service', () => {
  const misses: Script = (asked, _response, reply, usual) => reply(asked.path === 'enrich' ? problem(404, 'no_match') : usual());

  test('ends the run with 78 after 100 misses and no other answer, with empty output and ledger; trustMisses accepts them', async () => {
    const { folder, service, args } = await makeWorld(people(400));
    service.script = misses;
    const ended = await folder.run(args({ steps: 'enrich', concurrency: '10' }));
    expect(ended).toMatchObject({ code: 78, stderr: expect.stringMatching(/the first 100 answers were all 404 miss/) });
    expect(service.requests.length).toBeLessThanOrEqual(110);
    expect((await durableLookups(folder.at('out.csv.ledger'))).size).toBe(0);
    expect((await folder.read('out.csv.partial')).split('\n').filter((line) => line.includes('@'))).toEqual([]);
    expect(await folder.files()).not.toContain('out.csv');
    expect((await folder.run(args({ steps: 'enrich', 'limits.trustMisses': true }))).code).toBe(0);
    expect((await report(folder)).records).toMatchObject({ total: 400, no_match: 400 });
  });

  test.each(['enrich', 'verify'])('stays trusted when %s lookups are refused again and the ledger knows the service', async (steps) => {
    const refused = Array.from({ length: 150 }, (_, i) => `r${i},refused${i}@works.example\n`).join('');
    const { folder, service, args } = await makeWorld(`${people(50)}${refused}`);
    const delivered = (keys: readonly string[]): Reply => ({
      status: 200,
      body: JSON.stringify(keys.map((email) => ({ email, result: 'deliverable' }))),
    });
    service.script = ({ keys, path }, _response, reply, usual) =>
      reply(
        keys.some((key) => key.startsWith('refused')) ? problem(422, 'validation_failed') : path === 'verify' ? delivered(keys) : usual(),
      );
    const lenient = { steps, 'max-errors': '100%', 'limits.trustMisses': true };
    expect((await folder.run(args(lenient))).code).toBe(0);
    service.forget();
    expect(await folder.run(args({ ...lenient, 'limits.trustMisses': false, fresh: true }))).toMatchObject({ code: 0, stderr: '' });
    expect([...service.asked.keys()].filter((key) => !key.includes('refused'))).toEqual([]);
    expect((await report(folder)).records).toMatchObject({ total: 200, matched: 50, failed: 150 });
  });

  test('stays trusted after only misses in an input of fewer than 100 rows', async () => {
    const { folder, service, args } = await makeWorld(people(60));
    service.script = misses;
    expect((await folder.run(args())).code).toBe(0);
    expect((await report(folder)).records).toMatchObject({ total: 60, no_match: 60 });
  });

  test.each(
    sampleOf(
      [
        ['a 404 of a path that it does not have', problem(404, 'not_found'), /does not look like the data service/],
        [
          'a 404 that is no JSON',
          { status: 404, body: '<h1>nginx</h1>', headers: { 'content-type': 'text/html' } },
          /does not look like the data service/,
        ],
        [
          'a redirect',
          { status: 302, body: '', headers: { location: 'https://login.example/?token=abc' } },
          /points to https:\/\/login\.example\/$/m,
        ],
      ] as const,
      1,
    ),
  )('ends the run with 78 within seconds: %s', async (_, reply, words) => {
    const { folder, service, args } = await makeWorld(people(50));
    service.script = (_asked, _response, send) => send(reply);
    const ended = await folder.run(args({ concurrency: '2' }));
    expect(ended).toMatchObject({ code: 78, stderr: expect.stringMatching(words) });
    // A redirect may come from a proxy in front, so the run waits ten seconds for another answer.
    expect(service.requests.length).toBeLessThanOrEqual(reply.status === 302 ? 30 : 6);
  });
});
