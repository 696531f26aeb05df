import { writeFile } from 'node:fs/promises';
import { createServer as createHttps } from 'node:https';
import { describe, expect, test } from 'vitest';
import { flags, makeFolder } from '../support/world.ts';
import { people } from './people.ts';
import { CASES, found, listen, RECORDS, TLS, trusted } from './unreachable.ts';

describe('a service that was never reached', () => {
  test.each(CASES)(
    'ends the run with $code, the fault, its remedy and no failed row: $name',
    async ({ start, code, says, maxOutageMs = 500 }) => {
      const folder = await makeFolder();
      await writeFile(folder.at('in.csv'), people(RECORDS));
      const { url, env = {} } = await start(folder);
      const ended = await folder.run(
        [
          'run',
          ...flags({
            input: 'in.csv',
            output: 'out.csv',
            steps: 'enrich',
            plan: 'enterprise',
            'base-url': url,
            progress: 'none',
            'limits.maxOutageMs': String(maxOutageMs),
          }),
        ],
        { env },
      );
      expect(ended).toMatchObject({ code });
      for (const words of says) expect(ended.stderr).toMatch(words);
      const { state, mark } = (await folder.json('out.csv.checkpoint.json')) as { state: string; mark: { tally: { total: number } } };
      expect([state, mark.tally.total]).toEqual(['stopped', 0]);
    },
  );

  test('because of its certificate is reached by the same command once the certificate is trusted', async () => {
    const folder = await makeFolder();
    await writeFile(folder.at('in.csv'), people(RECORDS));
    const command = [
      'run',
      ...flags({
        input: 'in.csv',
        output: 'out.csv',
        steps: 'enrich',
        plan: 'enterprise',
        'base-url': `https://localhost:${await listen(createHttps(TLS, found))}`,
        progress: 'none',
        'limits.maxOutageMs': '500',
      }),
    ];
    expect((await folder.run(command)).code).toBe(78);
    expect((await folder.run(command, { env: await trusted(folder) })).code).toBe(0);
  });
});
