import { afterEach, expect, it } from 'vitest';
import { startMailWorld, type RunningWorld } from '../../src/service/sample/mail-world/start-world.ts';
import { verificationTable } from '../../src/verification/table.ts';
import type { EmailVerification } from '../../src/verification/types.ts';
import { Folder } from '../support/cli.ts';
import { inWorld, WORLD } from '../verification/in-world.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(): Promise<{ world: RunningWorld; folder: Folder; flags: readonly string[] }> {
  const folder = await Folder.make();
  cleanups.push(() => folder.remove());
  const world = await startMailWorld(WORLD);
  cleanups.push(() => world.close());
  return {
    world,
    folder,
    flags: ['verify', '--local', '--dns-server', world.dnsServer, '--smtp-port', String(world.portOf('mx.plain.test'))],
  };
}

const inShort = (stdout: string): unknown[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { email, result, reason } = JSON.parse(line) as EmailVerification;
      return [email, result, reason];
    });

it('verify --local prints one JSON object per address, in the order given, over real sockets', async () => {
  const { folder, flags } = await start();
  const { code, stdout, stderr } = await folder.run([
    ...flags,
    '--verify.patienceMs',
    '60000',
    'jane@plain.test',
    'n/a',
    'nobody@plain.test',
    'jane@null-mx.test',
  ]);
  expect({ code, stderr, found: inShort(stdout) }).toEqual({
    code: 0,
    stderr: '',
    found: [
      ['jane@plain.test', 'deliverable', 'accepted'],
      ['n/a', 'undeliverable', 'invalid_syntax'],
      ['nobody@plain.test', 'undeliverable', 'no_mailbox'],
      ['jane@null-mx.test', 'undeliverable', 'null_mx'],
    ],
  });
});

it('verify --local reads more addresses from standard input than fit a batch', async () => {
  const { folder, flags } = await start();
  const emails = Array.from({ length: 1_201 }, (_, n) => `user${n}@nowhere.test`);
  const { code, stdout } = await folder.run([...flags, '--mode', 'dns', '-'], { stdin: `${emails.join('\r\n')}\r\n\r\njane@anybody.test` });
  expect(code).toBe(0);
  expect(inShort(stdout)).toEqual([
    ...emails.map((email) => [email, 'undeliverable', 'no_domain']),
    ['jane@anybody.test', 'unknown', 'smtp_not_asked'],
  ]);
});

it('verify --local refuses a line without end', async () => {
  const { folder, flags } = await start();
  expect(await folder.run([...flags, '-'], { stdin: 'x'.repeat(200_000) })).toMatchObject({
    code: 65,
    stderr: expect.stringMatching(/a line of more than 65536 bytes/) as string,
  });
});

it('verify --local reports a line that is not UTF-8 as invalid, and never as another address', async () => {
  const { folder, flags } = await start();
  const stdin = Buffer.concat([Buffer.from('jane@plain.test\nb'), Buffer.from([0xfc]), Buffer.from('rn@plain.test\nnobody@plain.test\n')]);
  const { code, stdout, stderr } = await folder.run([...flags, '-'], { stdin });
  expect({ code, stderr, found: inShort(stdout) }).toEqual({
    code: 1,
    stderr: 'millrace: 1 of 3 could not be looked up\n',
    found: [
      ['jane@plain.test', 'deliverable', 'accepted'],
      [null, undefined, undefined],
      ['nobody@plain.test', 'undeliverable', 'no_mailbox'],
    ],
  });
});

it('a signal stops verify --local at once, with 75', async () => {
  const { folder, world } = await start();
  const started = folder.start([
    'verify',
    '--local',
    '--dns-server',
    world.dnsServer,
    '--smtp-port',
    String(world.portOf('mx.silent.test')),
    'jane@plain.test',
  ]);
  while (world.countsOf('mx.silent.test').connections === 0) await new Promise((resolve) => setImmediate(resolve));
  started.kill('SIGINT');
  expect(await started.ended).toMatchObject({ code: 75, stdout: '' });
});

it('verify --local on a terminal shows the findings and how the score adds up', async () => {
  const { one } = await inWorld();
  const shape = (table: string): string => table.replaceAll(/ +\d+(?:\.\d)? ms/g, ' N ms');
  expect(shape(verificationTable(await one('info@plain.test')))).toBe(
    [
      'info@plain.test   deliverable (accepted), confidence 80',
      '  syntax    valid N ms',
      '  lists     role N ms',
      '  evidence  none N ms',
      '  dns       hosts N ms  mx.plain.test',
      '  smtp      accepted N ms  2.1.5 fine',
      '   +97  the server takes mail for it, and not for just anybody',
      '   -15  a function rather than a person',
      '    -2  a role: never more than 80',
      '    80  confidence, 0 to 100 (rules of version 2)',
    ].join('\n'),
  );
  const { length } = verificationTable(await one('a\u001b[2J@x')).split('\u001b');
  expect(length).toBe(1);
});
