/** A store from its first import to rotated keys, while a service serves it. The tests build on each other. */
import { stat, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startMailWorld, type RunningWorld } from '../../src/service/sample/mail-world/start-world.ts';
import { Folder, type Ended } from '../support/cli.ts';
import { CRM } from './crm-file.ts';

let folder: Folder;
let world: RunningWorld;
let url = '';
let key = '';

beforeAll(async () => {
  folder = await Folder.make();
  await writeFile(folder.at('crm.csv'), CRM);
  world = await startMailWorld({
    hosts: { 'mx.there.example': {} },
    domains: { 'there.example': { mx: [[10, 'mx.there.example']], mailboxes: ['jane'] } },
  });
});
afterAll(async () => {
  await folder.remove();
  await world.close();
});

async function enrich(email: string, withKey = key): Promise<number> {
  const reply = await fetch(`${url}/v1/enrich`, {
    method: 'POST',
    headers: { authorization: `Bearer ${withKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  });
  await reply.arrayBuffer();
  return reply.status;
}

it('import, keys create, serve and run lead from your own CSV to an enriched file', async () => {
  const imported = await folder.run(['import', '--store', 's.sqlite', '--contacts', 'crm.csv']);
  expect(imported.code).toBe(0);
  expect(JSON.parse(imported.stdout)).toMatchObject({
    contacts: { read: 3, added: 2, rejected: { no_identity: 1 } },
    rejectedRows: 's.sqlite.rejected.jsonl',
  });
  expect(JSON.parse(await folder.read('s.sqlite.rejected.jsonl'))).toMatchObject({ file: 'crm.csv', line: 4, code: 'no_identity' });
  expect((await stat(folder.at('s.sqlite'))).mode & 0o777).toBe(0o600);

  const made = await folder.run(['keys', 'create', '--store', 's.sqlite', '--plan', 'enterprise', '--credits', '50', '--label', 'nightly']);
  expect(made.stdout).toMatch(/^mr_us_[\w-]{43}\n$/);
  key = made.stdout.trim();

  const served = folder.start([
    'serve',
    '--store',
    's.sqlite',
    '--port',
    '0',
    '--dns-server',
    world.dnsServer,
    '--smtp-port',
    String(world.portOf('mx.there.example')),
    '--ehlo-name',
    'mail.acme.example',
  ]);
  await served.says(/^\{"url":/m);
  url = (JSON.parse(served.stdout()) as { url: string }).url;
  await writeFile(folder.at('leads.csv'), 'email,note\nADA@acme.example,x\nzoe@acme.example,y\n');
  const run = await folder.run(
    ['run', '--input', 'leads.csv', '--output', 'out.jsonl', '--base-url', url, '--plan', 'enterprise', '--steps', 'enrich'],
    { env: { MILLRACE_API_KEY: key } },
  );
  expect(run.code).toBe(0);
  const rows = (await folder.read('out.jsonl'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(rows).toMatchObject([
    { result: { outcome: 'matched' }, enrich: { name: 'Ada Example', title: 'CTO', company: { name: 'Acme', domain: 'acme.example' } } },
    { result: { outcome: 'no_match' }, enrich: null },
  ]);

  // The output of a run can be imported and served.
  expect(JSON.parse((await folder.run(['import', '--store', 'other.sqlite', '--contacts', 'out.jsonl'])).stdout)).toMatchObject({
    contacts: { read: 2, added: 1, skipped: 1 },
  });
  // While the service runs.
  const more = 'email,title\nada@acme.example,CEO\nzoe@acme.example,CFO\n';
  expect((await folder.run(['import', '--store', 's.sqlite', '--contacts', '-'], { stdin: more })).code).toBe(0);
  expect(await enrich('zoe@acme.example')).toBe(200);
});

it('suppress removes a person from answers, exports and imports while the service runs', async () => {
  expect(await enrich('bob@acme.example')).toBe(200);
  const suppressed = await folder.run(['suppress', 'Bob@acme.example', '--store', 's.sqlite']);
  expect(JSON.parse(suppressed.stdout)).toEqual({ suppressed: 1, people: 1, signals: 0, deliveries: 0, invalid: 0 });
  expect(await enrich('bob@acme.example')).toBe(451);
  expect(JSON.parse((await folder.run(['import', '--store', 's.sqlite', '--contacts', 'crm.csv'])).stdout)).toMatchObject({
    contacts: { rejected: { suppressed: 1 } },
  });
  const exported = await folder.run(['export', '--store', 's.sqlite', '--contacts', 'all.csv.gz', '--companies', 'all.jsonl']);
  expect(exported).toMatchObject({ code: 0, stdout: '{"companies":1,"contacts":2}\n' });
  const printed = await folder.run(['export', '--store', 's.sqlite', '--contacts', '-']);
  expect(
    printed.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { email: string }).email),
  ).toEqual(['ada@acme.example', 'zoe@acme.example']);
});

it('serve verifies with the given DNS server, SMTP port and EHLO name', async () => {
  const body = JSON.stringify({ emails: ['jane@there.example', 'joe@there.example', 'jane@nowhere.example'] });
  const reply = await fetch(`${url}/v1/emails/verify`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });
  expect(((await reply.json()) as { data: { reason: string }[] }).data.map(({ reason }) => reason)).toEqual([
    'accepted',
    'no_mailbox',
    'no_domain',
  ]);
});

it('imported deliveries and bounces decide verdicts while the service runs, until their address is suppressed', async () => {
  const verdicts = async (): Promise<unknown> => {
    const body = JSON.stringify({ emails: ['ada@acme.example', 'dead@acme.example'], mode: 'dns', timeout_ms: 1 });
    const reply = await fetch(`${url}/v1/emails/verify`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    });
    return ((await reply.json()) as { data: { reason: string }[] }).data.map(({ reason }) => reason);
  };
  const yesterday = new Date(Date.now() - 86_400_000).toISOString();
  await writeFile(
    folder.at('mails.csv'),
    'Recipient,Event,Bounce Type,SMTP response,Timestamp\n' +
      `ADA@acme.example,delivered,,250 OK,${yesterday}\ndead@acme.example,bounced,hard,550 5.1.1 no such ` +
      `user,${yesterday}\nfull@acme.example,bounced,soft,452 4.2.2 full,${yesterday}\n` +
      `ada@acme.example,gone,,,${yesterday}\n`,
  );
  const imported = await folder.run(['import', '--store', 's.sqlite', '--deliveries', 'mails.csv']);
  expect(JSON.parse(imported.stdout)).toEqual({
    deliveries: { read: 4, added: 2, updated: 0, unchanged: 0, rejected: { bad_event: 1 }, dropped: {}, surplus: 0, skipped: 1 },
    rejectedRows: 's.sqlite.rejected.jsonl',
  });
  expect(JSON.parse(await folder.read('s.sqlite.rejected.jsonl'))).toMatchObject({ file: 'mails.csv', line: 5, code: 'bad_event' });
  expect(await verdicts()).toEqual(['recorded_delivery', 'recorded_bounce']);
  expect(JSON.parse((await folder.run(['suppress', 'dead@acme.example', '--store', 's.sqlite'])).stdout)).toEqual({
    suppressed: 1,
    people: 0,
    signals: 0,
    deliveries: 1,
    invalid: 0,
  });
  expect(await verdicts()).not.toContain('recorded_bounce');
  expect(JSON.parse((await folder.run(['import', '--store', 's.sqlite', '--deliveries', 'mails.csv'])).stdout)).toMatchObject({
    deliveries: { unchanged: 1, rejected: { suppressed: 1 } },
  });
});

it('keys are listed without their secret, changed, rotated and revoked while the service runs', async () => {
  const [listed] = (await folder.run(['keys', 'list', '--store', 's.sqlite'])).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(listed).toMatchObject({ label: 'nightly', plan: 'enterprise', region: 'us', credits: 50, revoked_at: null });
  expect(JSON.stringify(listed)).not.toContain(key.slice(6));
  // This key has credits, so its use is counted. A key without credits has null, not 0.
  expect([listed?.['credits_used'], listed?.['calls_used']]).toEqual([expect.any(Number), expect.any(Number)]);
  await folder.run(['keys', 'create', '--store', 's.sqlite', '--plan', 'growth']);
  const all = (await folder.run(['keys', 'list', '--store', 's.sqlite'])).stdout.trim().split('\n');
  expect(JSON.parse(all[1] ?? '')).toMatchObject({ plan: 'growth', credits: null, credits_used: null, calls_used: null });
  const update = (...more: string[]): Promise<Ended> =>
    folder.run(['keys', 'update', String(listed?.['id']), '--store', 's.sqlite', ...more]);
  expect(await update('--plan', 'growth', '--add-credits', '7', '--label', 'noon')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/has the plan growth, and credits: \d+ of 57;/) as string,
  });
  expect(JSON.parse((await folder.run(['keys', 'list', '--store', 's.sqlite'])).stdout.split('\n')[0] ?? '')).toMatchObject({
    id: listed?.['id'],
    label: 'noon',
    plan: 'growth',
    credits: 57,
    credits_used: listed?.['credits_used'],
  });
  expect(
    await folder.run(['keys', 'update', (JSON.parse(all[1] ?? '') as { id: string }).id, '--store', 's.sqlite', '--add-credits', '1']),
  ).toMatchObject({ code: 65, stderr: expect.stringMatching(/not counted/) as string });
  const rotated = (await folder.run(['keys', 'rotate', String(listed?.['id']), '--store', 's.sqlite'])).stdout.trim();
  expect(await enrich('ada@acme.example', rotated)).toBe(200);
  // Within a second, because the service caches a key for that time.
  while ((await enrich('ada@acme.example')) !== 401) await new Promise((resolve) => setImmediate(resolve));
  expect(await folder.run(['keys', 'revoke', 'key_none', '--store', 's.sqlite'])).toMatchObject({
    code: 65,
    stderr: expect.stringMatching(/there is no key "key_none"/) as string,
  });
});

it.each([
  ['suppress', 'ada@acme.example'],
  ['export', '--contacts', '-'],
  ['keys', 'list'],
  ['keys', 'revoke', 'key_1'],
])('%s %s on a missing store is 65, and no store is made', async (...args) => {
  const ended = await folder.run([...args, '--store', 'mistyped.sqlite']);
  expect(ended).toMatchObject({ code: 65, stderr: expect.stringContaining('There is no store mistyped.sqlite') });
  expect(await folder.files()).not.toContain('mistyped.sqlite');
});
