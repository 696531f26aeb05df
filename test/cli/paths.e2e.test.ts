import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { leads, toCsv } from '../support/leads.ts';
import { API_KEY } from '../support/scripted-service.ts';
import { flags, makeWorld } from '../support/world.ts';

const ROWS = leads(80, 21).filter(({ key }) => key?.startsWith('refused') !== true);
const JOB = { plan: 'enterprise', progress: 'none', 'checkpoint.everyMs': '50', 'max-errors': '100%' } as const;

test('a job started in one folder continues from others by absolute and relative paths, and through a symlink', async () => {
  const { folder, service } = await makeWorld();
  for (const name of ['a', 'a/my in', 'b']) await mkdir(folder.at(name));
  await writeFile(folder.at('a/my in/leads 1.csv'), toCsv(ROWS.slice(0, 30)));
  await writeFile(folder.at('a/my in/leads 2.csv'), toCsv(ROWS.slice(30)));
  await symlink(folder.at('a'), folder.at('link'));
  const job = (from: string): string[] =>
    flags({
      ...JOB,
      'base-url': service.url,
      input: `${from}my in/*.csv`,
      output: `${from}out.csv`,
      ledger: `${from}l.ledger`,
      checkpoint: `${from}c.json`,
    });
  service.script = (asked, _response, reply, usual) => {
    if (asked.number <= 20) reply(usual());
  };
  const started = folder.start(['run', ...job('')], { cwd: folder.at('a') });
  await service.when(() => service.answered === 20 && service.unanswered.size > 0);
  started.kill('SIGTERM');
  started.kill('SIGINT');
  expect((await started.ended).code).toBe(75);
  service.script = (_asked, _response, reply, usual) => reply(usual());
  const elsewhere = [
    ['b', '../a/'],
    ['a/my in', folder.at('a/')],
    ['.', 'link/'],
  ] as const;
  for (const [cwd, from] of elsewhere) {
    const planned = await folder.run(['plan', ...job(from), '--json'], { cwd: folder.at(cwd) });
    expect([from, planned.code, (JSON.parse(planned.stdout) as { start: string }).start]).toEqual([from, 0, 'resume']);
    expect(JSON.parse((await folder.run(['status', ...job(from), '--json'], { cwd: folder.at(cwd) })).stdout)).toMatchObject({
      state: 'stopped',
      job: 'out',
    });
  }
  service.forget();
  const ended = await folder.run(['run', ...job('link/')]);
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  const asked = service.requests.length;
  for (const [cwd, from] of elsewhere) {
    for (const command of ['run', 'retry'])
      expect([from, command, (await folder.run([command, ...job(from)], { cwd: folder.at(cwd) })).code]).toEqual([from, command, 0]);
    const stats = await folder.run(['ledger', 'stats', ...flags({ ledger: `${from}l.ledger` }), '--json'], { cwd: folder.at(cwd) });
    expect(JSON.parse(stats.stdout)).toMatchObject({ runs: 1 });
  }
  expect(service.requests.length).toBe(asked);
  // The same relative path in another folder is another input.
  await writeFile(folder.at('b/in.csv'), toCsv(ROWS));
  const other = await folder.run(
    [
      'run',
      ...flags({
        ...JOB,
        'base-url': service.url,
        input: 'my in/*.csv',
        output: '../a/out.csv',
        ledger: '../a/l.ledger',
        checkpoint: '../a/c.json',
      }),
    ],
    { cwd: folder.at('b') },
  );
  expect([other.code, other.stderr]).toEqual([78, expect.stringContaining('input.uri was')]);
});

test('all paths of a job file are relative to the working directory, and ~/ is the home folder', async () => {
  const { folder, service } = await makeWorld();
  for (const name of ['jobs', 'in', 'home', 'home/in']) await mkdir(folder.at(name));
  await writeFile(folder.at('in/leads.csv'), toCsv(ROWS.slice(0, 3)));
  await writeFile(folder.at('home/in/leads.csv'), toCsv(ROWS.slice(0, 5)));
  await writeFile(folder.at('the.key'), API_KEY);
  const text = (at: string): string =>
    JSON.stringify({
      input: { uri: `${at}in/leads.csv` },
      output: { uri: `${at}out.csv` },
      checkpoint: { uri: `${at}cp.json` },
      ledger: { uri: `${at}paid.ledger` },
      service: { baseUrl: service.url, plan: 'enterprise' },
      limits: { maxErrors: '100%' },
    });
  await writeFile(folder.at('jobs/near.json'), text(''));
  await writeFile(folder.at('jobs/home.json'), text('~/'));
  const env = { MILLRACE_API_KEY: '', MILLRACE_API_KEY_FILE: 'the.key', HOME: folder.at('home') };
  for (const [job, at] of [
    ['near', ''],
    ['jobs/home.json', 'home/'],
  ] as const) {
    expect([job, (await folder.run(['run', job, '--progress', 'none'], { env })).code]).toEqual([job, 0]);
    for (const file of ['out.csv', 'cp.json', 'paid.ledger', 'out.csv.report.json']) expect(await folder.files()).toContain(`${at}${file}`);
    expect(JSON.parse((await folder.run(['status', job, '--json'], { env })).stdout)).toMatchObject({ state: 'finished' });
  }
  const scheme = await folder.run(['plan', ...flags({ input: 'file:///in/my%20leads.csv', output: 'o.csv', embedded: true })], { env });
  expect([scheme.code, scheme.stderr]).toEqual([64, expect.stringContaining('Write the path without a scheme: "/in/my leads.csv"')]);
  await rm(folder.at('the.key'));
});
