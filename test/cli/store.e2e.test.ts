import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startMailWorld, type RunningWorld } from '../../src/service/mail-world/start-world.ts';
import { CLI, Folder, type Ended } from '../support/cli.ts';

const CRM = `Full Name,Work Email,Company,Website,Job Title,Mobile
Ada Example,ada@acme.example,Acme,acme.example,CTO,+12125550100
Bob Sample,bob@acme.example,Acme,acme.example,Engineer,
Nobody,,,,,
`;

let folder: Folder;
let world: RunningWorld;
let url = '';
let key = '';

beforeAll(async () => {
  folder = await Folder.make();
  await writeFile(folder.at('crm.csv'), CRM);
  world = await startMailWorld({ hosts: { 'mx.there.example': {} }, domains: { 'there.example': { mx: [[10, 'mx.there.example']], mailboxes: ['jane'] } } });
});
afterAll(async () => {
  await folder.remove();
  await world.close();
});

async function enrich(email: string, withKey = key): Promise<number> {
  const reply = await fetch(`${url}/v1/enrich`, { method: 'POST', headers: { authorization: `Bearer ${withKey}`, 'content-type': 'application/json' }, body: JSON.stringify({ email }) });
  await reply.arrayBuffer();
  return reply.status;
}

it('takes files without a flag for people, unless the shell may have made them of another kind\'s glob', async () => {
  await writeFile(folder.at('more.jsonl'), '{"email":"cleo@acme.example","name":"Cleo Case"}\n');
  const { code, stdout } = await folder.run(['import', '--store', 'many.sqlite', 'crm.csv', 'more.jsonl', '--contacts', 'crm.csv']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ contacts: { read: 7, added: 3, unchanged: 2, rejected: { no_identity: 2 } } });
  expect(await folder.run(['import', '--store', 'many.sqlite'])).toMatchObject({ code: 64, stderr: expect.stringContaining('Nothing says what to import') });
  expect(await folder.run(['import', '--store', 'many.sqlite', '--companies', 'a.csv', 'b.csv'])).toMatchObject({ code: 64, stderr: expect.stringContaining('Quote globs') });
  expect(await folder.run(['import', '--store', 'many.sqlite', '-', '-'])).toMatchObject({ code: 64, stderr: expect.stringContaining('named several times') });
});

it('from a CSV of one\'s own to an enriched file through one\'s own service', async () => {
  const imported = await folder.run(['import', '--store', 's.sqlite', '--contacts', 'crm.csv']);
  expect(imported.code).toBe(0);
  expect(JSON.parse(imported.stdout)).toMatchObject({ contacts: { read: 3, added: 2, rejected: { no_identity: 1 } }, rejectedRows: 's.sqlite.rejected.jsonl' });
  expect(JSON.parse(await folder.read('s.sqlite.rejected.jsonl'))).toMatchObject({ file: 'crm.csv', line: 4, code: 'no_identity' });
  expect((await stat(folder.at('s.sqlite'))).mode & 0o777).toBe(0o600);

  const made = await folder.run(['keys', 'create', '--store', 's.sqlite', '--plan', 'enterprise', '--credits', '50', '--label', 'nightly']);
  expect(made.stdout).toMatch(/^mr_us_[\w-]{43}\n$/);
  key = made.stdout.trim();

  const served = folder.start(['serve', '--store', 's.sqlite', '--port', '0', '--dns-server', world.dnsServer, '--smtp-port', String(world.portOf('mx.there.example')), '--ehlo-name', 'mail.acme.example']);
  await served.says(/^\{"url":/m);
  url = (JSON.parse(served.stdout()) as { url: string }).url;
  await writeFile(folder.at('leads.csv'), 'email,note\nADA@acme.example,x\nzoe@acme.example,y\n');
  const run = await folder.run(['run', '--input', 'leads.csv', '--output', 'out.jsonl', '--base-url', url, '--plan', 'enterprise', '--steps', 'enrich'], { env: { MILLRACE_API_KEY: key } });
  expect(run.code).toBe(0);
  const rows = (await folder.read('out.jsonl')).trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(rows).toMatchObject([{ result: { outcome: 'matched' }, enrich: { name: 'Ada Example', title: 'CTO', company: { name: 'Acme', domain: 'acme.example' } } }, { result: { outcome: 'no_match' }, enrich: null }]);

  // What was paid for once can be served ever after.
  expect(JSON.parse((await folder.run(['import', '--store', 'other.sqlite', '--contacts', 'out.jsonl'])).stdout)).toMatchObject({ contacts: { read: 2, added: 1, skipped: 1 } });
  // While the service runs.
  const more = 'email,title\nada@acme.example,CEO\nzoe@acme.example,CFO\n';
  expect((await folder.run(['import', '--store', 's.sqlite', '--contacts', '-'], { stdin: more })).code).toBe(0);
  expect(await enrich('zoe@acme.example')).toBe(200);
});

it('a person who asks for it is gone from answers, exports and imports, while the service runs', async () => {
  expect(await enrich('bob@acme.example')).toBe(200);
  const suppressed = await folder.run(['suppress', 'Bob@acme.example', '--store', 's.sqlite']);
  expect(JSON.parse(suppressed.stdout)).toEqual({ suppressed: 1, people: 1, signals: 0, deliveries: 0, invalid: 0 });
  expect(await enrich('bob@acme.example')).toBe(451);
  expect(JSON.parse((await folder.run(['import', '--store', 's.sqlite', '--contacts', 'crm.csv'])).stdout)).toMatchObject({ contacts: { rejected: { suppressed: 1 } } });
  const exported = await folder.run(['export', '--store', 's.sqlite', '--contacts', 'all.csv.gz', '--companies', 'all.jsonl']);
  expect(exported).toMatchObject({ code: 0, stdout: '{"companies":1,"contacts":2}\n' });
  const printed = await folder.run(['export', '--store', 's.sqlite', '--contacts', '-']);
  expect(printed.stdout.trim().split('\n').map((line) => (JSON.parse(line) as { email: string }).email)).toEqual(['ada@acme.example', 'zoe@acme.example']);
});

it('it asks the DNS and the mail servers that it was told of, under the name that it was given', async () => {
  const body = JSON.stringify({ emails: ['jane@there.example', 'joe@there.example', 'jane@nowhere.example'] });
  const reply = await fetch(`${url}/v1/emails/verify`, { method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, body });
  expect(((await reply.json()) as { data: { reason: string }[] }).data.map(({ reason }) => reason)).toEqual(['accepted', 'no_mailbox', 'no_domain']);
});

it('what became of mails speaks for and against their addresses, until these ask to be removed, while the service runs', async () => {
  const verdicts = async (): Promise<unknown> => {
    const body = JSON.stringify({ emails: ['ada@acme.example', 'dead@acme.example'], mode: 'dns', timeout_ms: 1 });
    const reply = await fetch(`${url}/v1/emails/verify`, { method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, body });
    return ((await reply.json()) as { data: { reason: string }[] }).data.map(({ reason }) => reason);
  };
  const yesterday = new Date(Date.now() - 86_400_000).toISOString();
  await writeFile(folder.at('mails.csv'), `Recipient,Event,Bounce Type,SMTP response,Timestamp\nADA@acme.example,delivered,,250 OK,${yesterday}\ndead@acme.example,bounced,hard,550 5.1.1 no such user,${yesterday}\nfull@acme.example,bounced,soft,452 4.2.2 full,${yesterday}\nada@acme.example,gone,,,${yesterday}\n`);
  const imported = await folder.run(['import', '--store', 's.sqlite', '--deliveries', 'mails.csv']);
  expect(JSON.parse(imported.stdout)).toEqual({ deliveries: { read: 4, added: 2, updated: 0, unchanged: 0, rejected: { bad_event: 1 }, dropped: {}, surplus: 0, skipped: 1 }, rejectedRows: 's.sqlite.rejected.jsonl' });
  expect(JSON.parse(await folder.read('s.sqlite.rejected.jsonl'))).toMatchObject({ file: 'mails.csv', line: 5, code: 'bad_event' });
  expect(await verdicts()).toEqual(['recorded_delivery', 'recorded_bounce']);
  expect(JSON.parse((await folder.run(['suppress', 'dead@acme.example', '--store', 's.sqlite'])).stdout)).toEqual({ suppressed: 1, people: 0, signals: 0, deliveries: 1, invalid: 0 });
  expect(await verdicts()).not.toContain('recorded_bounce');
  expect(JSON.parse((await folder.run(['import', '--store', 's.sqlite', '--deliveries', 'mails.csv'])).stdout)).toMatchObject({ deliveries: { unchanged: 1, rejected: { suppressed: 1 } } });
});

it('keys are listed without themselves, changed, rotated and revoked while the service runs', async () => {
  const [listed] = (await folder.run(['keys', 'list', '--store', 's.sqlite'])).stdout.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(listed).toMatchObject({ label: 'nightly', plan: 'enterprise', region: 'us', credits: 50, revoked_at: null });
  expect(JSON.stringify(listed)).not.toContain(key.slice(6));
  // The key of this file has credits, so books are kept; of one without any, nothing is known, and not 0.
  expect([listed?.['credits_used'], listed?.['calls_used']]).toEqual([expect.any(Number), expect.any(Number)]);
  await folder.run(['keys', 'create', '--store', 's.sqlite', '--plan', 'growth']);
  const all = (await folder.run(['keys', 'list', '--store', 's.sqlite'])).stdout.trim().split('\n');
  expect(JSON.parse(all[1] ?? '')).toMatchObject({ plan: 'growth', credits: null, credits_used: null, calls_used: null });
  const update = (...more: string[]): Promise<Ended> => folder.run(['keys', 'update', String(listed?.['id']), '--store', 's.sqlite', ...more]);
  expect(await update('--plan', 'growth', '--add-credits', '7', '--label', 'noon')).toMatchObject({ code: 0, stdout: '', stderr: expect.stringMatching(/has the plan growth, and credits: \d+ of 57;/) as string });
  expect(JSON.parse((await folder.run(['keys', 'list', '--store', 's.sqlite'])).stdout.split('\n')[0] ?? '')).toMatchObject({ id: listed?.['id'], label: 'noon', plan: 'growth', credits: 57, credits_used: listed?.['credits_used'] });
  expect(await folder.run(['keys', 'update', (JSON.parse(all[1] ?? '') as { id: string }).id, '--store', 's.sqlite', '--add-credits', '1'])).toMatchObject({ code: 65, stderr: expect.stringMatching(/not counted/) as string });
  const rotated = (await folder.run(['keys', 'rotate', String(listed?.['id']), '--store', 's.sqlite'])).stdout.trim();
  expect(await enrich('ada@acme.example', rotated)).toBe(200);
  // Within a second: what a service has seen of a key it believes for so long.
  while ((await enrich('ada@acme.example')) !== 401) await new Promise((resolve) => setImmediate(resolve));
  expect(await folder.run(['keys', 'revoke', 'key_none', '--store', 's.sqlite'])).toMatchObject({ code: 65, stderr: expect.stringMatching(/there is no key "key_none"/) as string });
});

it('a file of nothing but rows that cannot be kept is told of', async () => {
  await writeFile(folder.at('bad.csv'), 'email\nn/a\n-\n');
  expect(await folder.run(['import', '--store', 'x.sqlite', '--contacts', 'bad.csv'])).toMatchObject({ code: 65, stderr: expect.stringMatching(/every row was rejected: 2 of 2 \(bad_email\)/) as string });
  expect(await folder.run(['import', '--store', 'x.sqlite', '--contacts', 'missing.csv'])).toMatchObject({ code: 65 });
  await writeFile(folder.at('strange.csv'), 'foo,bar\n1,2\n');
  expect(await folder.run(['import', '--store', 'x.sqlite', '--contacts', 'strange.csv'])).toMatchObject({ code: 65, stderr: expect.stringMatching(/none of its columns is known/) as string });
  expect(await folder.run(['import', '--store', 'crm.csv', '--contacts', 'crm.csv'])).toMatchObject({ code: 74 });
});

it('the report of rejected rows takes no other file\'s place', async () => {
  await writeFile(folder.at('notes.txt'), 'precious');
  expect(await folder.run(['import', '--store', 'n.sqlite', '--contacts', 'crm.csv', '--rejected', 'notes.txt'])).toMatchObject({ code: 65, stderr: expect.stringContaining('notes.txt exists, and is no report of rejected rows') });
  expect(await folder.read('notes.txt')).toBe('precious');
  for (const [flag, path] of [['store', 'n.sqlite'], ['contacts', 'crm.csv']]) {
    expect(await folder.run(['import', '--store', 'n.sqlite', '--contacts', 'crm.csv', '--rejected', `./${path}`])).toMatchObject({ code: 64, stderr: expect.stringContaining(`--rejected and --${flag} name the same file`) });
  }
  expect(await folder.read('crm.csv')).toBe(CRM);
  // Neither a folder's; and where it cannot be made, it is not the store that is to blame.
  expect(await folder.run(['import', '--store', 'n.sqlite', '--contacts', 'crm.csv', '--rejected', '.'])).toMatchObject({ code: 65, stderr: expect.stringContaining('. exists, and is no report of rejected rows') });
  expect(await folder.run(['import', '--store', 'n.sqlite', '--contacts', 'crm.csv', '--rejected', 'crm.csv/rows.jsonl'])).toMatchObject({ code: 74, stderr: expect.stringMatching(/^millrace: the report of rejected rows crm\.csv\/rows\.jsonl could not be written: /) });
  // Its folder is made, as that of an output.
  expect((await folder.run(['import', '--store', 'n.sqlite', '--contacts', 'crm.csv', '--rejected', 'reports/new/rows.jsonl'])).code).toBe(0);
  expect(JSON.parse(await folder.read('reports/new/rows.jsonl'))).toMatchObject({ code: 'no_identity' });
  // An earlier report is replaced, and goes when nothing is rejected.
  await writeFile(folder.at('clean.csv'), 'email\nzoe@acme.example\n');
  const into = (file: string): Promise<{ code: number | null }> => folder.run(['import', '--store', 'n.sqlite', '--contacts', file]);
  for (const file of ['crm.csv', 'crm.csv', 'clean.csv']) expect((await into(file)).code).toBe(0);
  expect((await folder.files()).filter((name) => name.startsWith('n.sqlite.rejected'))).toEqual([]);
});

it('two kinds of records do not share a file, and standard input is not read twice', async () => {
  const made = await folder.run(['import', '--store', 'two.csv', '--contacts', 'crm.csv']);
  expect(made.code).toBe(0);
  for (const [one, other] of [['both.jsonl', './both.jsonl'], ['-', '-'], ['both.csv', 'two.csv']] as const) {
    expect(await folder.run(['export', '--store', 'two.csv', '--contacts', one, '--companies', other])).toMatchObject({ code: 64, stdout: '', stderr: expect.stringContaining('name the same file') });
  }
  expect((await folder.files()).filter((name) => name.startsWith('both'))).toEqual([]);
  expect((await folder.run(['export', '--store', 'two.csv', '--contacts', '-'])).stdout).toContain('ada@acme.example');
  expect(await folder.run(['import', '--store', 'two.csv', '--contacts', '-', '--companies', '-'], { stdin: CRM })).toMatchObject({ code: 64, stdout: '', stderr: expect.stringContaining('Standard input can be read once') });
});

/** More than a pipe takes that nobody reads. */
async function importMany(): Promise<void> {
  await writeFile(folder.at('many.csv'), `email\n${Array.from({ length: 3_000 }, (_, n) => `p${n}@many.example\n`).join('')}`);
  await folder.run(['import', '--store', 'many.sqlite', '--contacts', 'many.csv']);
}

it('an export that is stopped while it waits for its reader: 75, and no bug', async () => {
  await importMany();
  const running = spawn(process.execPath, [CLI, 'export', '--store', 'many.sqlite', '--contacts', '-'], { cwd: folder.path, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(running, 'close');
  await once(running.stdout, 'readable');
  running.kill('SIGTERM');
  const stderr: string[] = [];
  running.stderr.setEncoding('utf8').on('data', (text: string) => stderr.push(text));
  await once(running.stderr, 'data');
  running.stdout.resume();
  const [code] = await ended;
  expect({ code: code as unknown, stderr: stderr.join('') }).toEqual({ code: 75, stderr: expect.stringMatching(/^millrace: stopped by SIGTERM\n  [^\n]+\n$/) });
});

it.runIf(existsSync('/dev/full'))('an export to standard output: what fails there is told of as that, and not as the store', async () => {
  await importMany();
  const said = (to: string): unknown => {
    const { status, stderr } = spawnSync('bash', ['-c', `"$0" "$@" ${to}; exit "\${PIPESTATUS[0]}"`, process.execPath, CLI, 'export', '--store', 'many.sqlite', '--contacts', '-'], { cwd: folder.path, encoding: 'utf8', timeout: 30_000 });
    return { status, stderr };
  };
  expect(said('> /dev/full')).toEqual({ status: 74, stderr: expect.stringMatching(/^millrace: standard output could not be written: ENOSPC[^\n]*\n  Free some space, then run the same command: it starts over\.\n$/) });
  expect(said('| true')).toEqual({ status: 74, stderr: expect.stringMatching(/^millrace: standard output was closed before the last row: [^\n]*EPIPE[^\n]*\n  [^\n]+\n$/) });
});

it.each([
  ['suppress', 'ada@acme.example'],
  ['export', '--contacts', '-'],
  ['keys', 'list'],
  ['keys', 'revoke', 'key_1'],
])('%s %s on a store that is not there: said, and none is made', async (...args) => {
  const ended = await folder.run([...args, '--store', 'mistyped.sqlite']);
  expect(ended).toMatchObject({ code: 65, stderr: expect.stringContaining('There is no store mistyped.sqlite') });
  expect(await folder.files()).not.toContain('mistyped.sqlite');
});
