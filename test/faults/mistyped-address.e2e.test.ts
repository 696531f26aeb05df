import { describe, expect, test } from 'vitest';
import { makeWorld } from '../support/world.ts';
import { emailOf, expectAllFound, people } from './people.ts';
import { closedPort, RECORDS } from './unreachable.ts';

describe('a mistyped address', () => {
  test('can be corrected with another --base-url after 78, 69 or a signal, until the first answer', async () => {
    const { folder, service, args } = await makeWorld(people(RECORDS));
    const more = { steps: 'enrich', 'limits.maxOutageMs': '500' };
    const refused = `http://localhost:${await closedPort()}`;
    expect((await folder.run(args({ ...more, 'base-url': `http://${'a'.repeat(64)}.example` }))).code).toBe(78);
    expect((await folder.run(args({ ...more, 'base-url': refused }))).code).toBe(69);
    const waiting = folder.start(args({ ...more, 'base-url': refused, 'limits.maxOutageMs': '600000' }));
    await waiting.says('the service is down');
    waiting.kill('SIGTERM');
    expect((await waiting.ended).code).toBe(75);
    // The right address at last, stopped in the middle. From its first answer on it is fixed.
    service.script = ({ keys }, _response, reply, usual) => {
      if (keys[0] === emailOf(0)) reply(usual());
    };
    const run = folder.start(args({ ...more, concurrency: '1' }));
    await service.when(() => service.answered === 1 && service.unanswered.size > 0);
    run.kill('SIGTERM');
    run.kill('SIGINT');
    expect((await run.ended).code).toBe(75);
    service.script = (_asked, _response, reply, usual) => reply(usual());
    expect(await folder.run(args({ ...more, 'base-url': refused }))).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('service.baseUrl was'),
    });
    expect((await folder.run(args(more))).code).toBe(0);
    await expectAllFound(folder, RECORDS);
    expect(service.asked.get(`enrich ${emailOf(0)}`)).toBe(1);
  });

  test('can be corrected in shards as well', async () => {
    const { folder, args } = await makeWorld(people(RECORDS));
    for (const shard of ['0/2', '1/2'])
      expect(
        (await folder.run(args({ steps: 'enrich', shard, 'limits.maxOutageMs': '500', 'base-url': `http://${'a'.repeat(64)}.example` })))
          .code,
      ).toBe(78);
    for (const shard of ['0/2', '1/2']) expect((await folder.run(args({ steps: 'enrich', shard }))).code).toBe(0);
    await expectAllFound(folder, RECORDS);
  });
});
