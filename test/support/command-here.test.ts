/** The command in the test's own process behaves as in a process of its own. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { people } from '../faults/people.ts';
import { makeFolder, makeWorld } from './world.ts';

test('gives the exit code and both outputs of a process, and leaves the same files', async () => {
  const here = await makeWorld(people(5));
  const apart = await makeWorld(people(5));
  const refuse = (): void => {
    for (const { service } of [here, apart])
      service.script = ({ keys }, _response, reply, usual) => reply(keys[0]?.includes('3') === true ? { status: 402, body: '' } : usual());
  };
  refuse();
  const line = ({ args }: typeof here): string[] => args({ steps: 'enrich', concurrency: '1' });
  const [one, other] = [await here.folder.run(line(here)), await apart.folder.start(line(apart)).ended];
  expect({ ...one, stderr: one.stderr.replaceAll(here.service.url, 'URL') }).toEqual({
    ...other,
    stderr: other.stderr.replaceAll(apart.service.url, 'URL'),
  });
  expect(one.code).toBe(77);
  expect(await here.folder.files()).toEqual(await apart.folder.files());
});

test('uses the given folder, environment and standard input, one command after the other', async () => {
  const [one, other] = [await makeFolder(), await makeFolder()];
  const before = [process.cwd(), process.env, process.stdin, process.stdout, process.exitCode, process.listenerCount('exit')];
  await writeFile(one.at('store.csv'), 'email,name\nada@acme.example,Ada\n');
  const [imported, helped, wrong] = await Promise.all([
    one.run(['import', '--store', 's.sqlite', '--contacts', 'store.csv']),
    other.run(['run', '--help']),
    other.run(['suppress', '-', '--store', 'none.sqlite'], { stdin: 'ada@acme.example\n', env: { MILLRACE_API_KEY: '' } }),
  ]);
  expect([imported.code, helped.code, wrong.code]).toEqual([0, 0, 65]);
  expect(helped.stdout).toContain('millrace run');
  expect(await one.files()).toContain('s.sqlite');
  expect(await other.files()).toEqual([]);
  expect([process.cwd(), process.env, process.stdin, process.stdout, process.exitCode, process.listenerCount('exit')]).toEqual(before);
});
