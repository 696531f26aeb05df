/** Two services behind one gateway: the path of the address tells their answers apart in a ledger. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { cleanUp } from '../support/clean-up.ts';
import { makeFolder } from '../support/world.ts';

/** A gateway with one service below each path. Each service knows everybody under its own name. */
async function startGateway(): Promise<{ url: string; calls: Record<string, number> }> {
  const calls: Record<string, number> = {};
  const server = createServer((request, response) => {
    const [, name = ''] = (request.url ?? '').split('/');
    calls[name] = (calls[name] ?? 0) + 1;
    request.resume();
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ email: null, name: `known at ${name}`, title: 'Head', company: null, verified: false }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

test('two services at two paths of one host keep their answers apart in one ledger', async () => {
  const [folder, gateway] = await Promise.all([makeFolder(), startGateway()]);
  await writeFile(folder.at('in.csv'), 'email\nana@works.example\nbo@works.example\n');
  const run = (name: string): ReturnType<typeof folder.run> =>
    folder.run(
      [
        'run',
        '--input',
        'in.csv',
        '--output',
        `${name}.csv`,
        '--steps',
        'enrich',
        '--base-url',
        `${gateway.url}/${name}`,
        '--rpm',
        '100000',
        '--ledger',
        'kept.ledger',
        '--ledger.maxAgeDays',
        '30',
        '--progress',
        'log',
      ],
      { env: { MILLRACE_API_KEY: 'k' } },
    );
  for (const name of ['a', 'b', 'a']) expect(await run(name)).toMatchObject({ code: 0 });
  expect(gateway.calls).toEqual({ a: 2, b: 2 });
  for (const name of ['a', 'b']) expect(await folder.read(`${name}.csv`)).toContain(`known at ${name}`);
});

test('a run that an earlier version began goes on under its old keys, and a new run says that it asks anew', async () => {
  const [folder, gateway] = await Promise.all([makeFolder(), startGateway()]);
  await writeFile(folder.at('in.csv'), 'email\nana@works.example\nbo@works.example\n');
  const flags = [
    'run',
    '--input',
    'in.csv',
    '--output',
    'out.csv',
    '--steps',
    'enrich',
    '--base-url',
    `${gateway.url}/a`,
    '--rpm',
    '100000',
    '--ledger',
    'kept.ledger',
    '--ledger.maxAgeDays',
    '30',
    '--progress',
    'log',
  ];
  const env = { MILLRACE_API_KEY: 'k' };
  expect(await folder.run([...flags, '--limit', '1'], { env })).toMatchObject({ code: 0 });
  // As an earlier version would have left both: the origin alone in the ledger, and no word about it in the checkpoint.
  const ledger = new DatabaseSync(folder.at('kept.ledger'));
  expect(ledger.prepare('UPDATE scopes SET origin = ?').run(gateway.url).changes).toBeGreaterThan(0);
  ledger.close();
  const { ledgerKey, sha256: _sha256, ...old } = await folder.json('out.csv.checkpoint.json');
  expect(ledgerKey).toBe('path');
  await writeFile(folder.at('out.csv.checkpoint.json'), JSON.stringify(old));
  expect(await folder.run([...flags, '--limit', '2'], { env })).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('stored without'),
  });
  expect(gateway.calls).toEqual({ a: 2 });
  const fresh = await folder.run([...flags, '--fresh'], { env });
  expect(fresh).toMatchObject({ code: 0, stderr: expect.stringContaining(`has answers of ${gateway.url}, stored without the path`) });
  expect(gateway.calls).toEqual({ a: 4 });
  expect((await folder.run([...flags, '--fresh'], { env })).stderr).not.toContain('stored without the path');
  expect(gateway.calls).toEqual({ a: 4 });
});
