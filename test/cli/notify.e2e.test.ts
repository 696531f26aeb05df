/** Messages about the end of a run, and the completion marker. */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { readCheckpoint, writeCheckpoint } from '../../src/checkpoint/checkpoint-file.ts';
import { signedHeaders } from '../../src/util/signed-headers.ts';
import { cleanUp } from '../support/clean-up.ts';
import { ALONE } from '../support/fence.ts';
import { makeWorld } from '../support/world.ts';

const BYTES = Buffer.alloc(32, 7);
const SECRET = `whsec_${BYTES.toString('base64')}`;
const LEADS = `email\n${Array.from({ length: 20 }, (_, i) => `a${i}@works.example\n`).join('')}`;

interface Message {
  readonly headers: Record<string, string | undefined>;
  readonly text: string;
}

/** Takes messages, or refuses them all with `status`. No message is answered when it is null. */
async function receiver(status: number | null = 204): Promise<{ url: string; messages: Message[]; asked: Promise<void> }> {
  const messages: Message[] = [];
  const asked = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    void (async () => {
      let text = '';
      for await (const piece of request) text += String(piece);
      messages.push({ headers: request.headers as Message['headers'], text });
      asked.resolve();
      if (status !== null) response.writeHead(status).end();
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/T0KEN`, messages, asked: asked.promise };
}

const parsed = ({ text }: Message): unknown => JSON.parse(text);

test('a finished run sends a signed message with its report, once, and leaves the secret URL nowhere', async () => {
  const { url, messages } = await receiver();
  const { folder, args } = await makeWorld(LEADS);
  const options = args({ steps: 'enrich', 'onFinish.url': '{env:HOOK_URL}', progress: 'log' });
  const env = { HOOK_URL: url, MILLRACE_WEBHOOK_SECRET: SECRET };
  const first = await folder.run(options, { env });
  expect(first.code).toBe(0);
  expect(messages.map(parsed)).toEqual([
    {
      type: 'job.finished',
      timestamp: expect.any(String),
      data: { job: 'out', exitCode: 0, error: null, report: await folder.json('out.csv.report.json') },
    },
  ]);
  const [{ headers, text } = { headers: {}, text: '' }] = messages;
  const signed = signedHeaders([BYTES], headers['webhook-id'] ?? '', Number(headers['webhook-timestamp']) * 1_000, text);
  expect(headers).toMatchObject(signed);
  // Nothing was called, so nobody is notified.
  expect(await folder.run(options, { env })).toMatchObject({ code: 0 });
  expect(messages).toHaveLength(1);
  for (const file of await folder.files()) expect(await folder.read(file)).not.toContain('T0KEN');
  expect(first.stderr).not.toContain('T0KEN');
});

test('a run that was killed before its files had their names sends its message once the next one has put them in place', async () => {
  const { url, messages } = await receiver();
  const { folder, args } = await makeWorld(LEADS);
  const job = args({ steps: 'enrich', 'onFinish.url': url, 'onFinish.format': 'slack' });
  expect(await folder.run(job)).toMatchObject({ code: 0 });
  const path = folder.at('out.csv.checkpoint.json');
  const checkpoint = await readCheckpoint(path);
  if (checkpoint === null) throw new Error('a finished job has a checkpoint');
  await writeCheckpoint(path, { ...checkpoint, state: 'finishing' }, ALONE);
  expect(await folder.run(job)).toMatchObject({ code: 0 });
  expect(await folder.run(job)).toMatchObject({ code: 0 });
  expect(messages.map(parsed)).toEqual(Array.from({ length: 2 }, () => ({ text: expect.stringMatching(/^\*out\* finished/) })));
});

test('a run that stops with an error sends its message and its advice, and keeps its exit code when nobody takes them', async () => {
  const { url, messages } = await receiver(400);
  const { folder, args } = await makeWorld(LEADS);
  const stopped = await folder.run(args({ steps: 'enrich', 'max-calls': '5', 'onTrouble.url': url, 'onTrouble.format': 'slack' }));
  expect(stopped).toMatchObject({ code: 77, stderr: expect.stringMatching(/not taken by http:\/\/127\.0\.0\.1:\d+: the answer was 400/) });
  expect(stopped.stderr).not.toContain('T0KEN');
  expect(messages.map(parsed)).toEqual([
    { text: expect.stringMatching(/^\*out\* stopped with exit code 77\nlimits\.maxCalls is reached[^]*--max-calls[^]*\n\d+ records/) },
  ]);
});

test('a finished run with exit code 1 sends both messages, and one where both go to the same place', async () => {
  const [{ url, messages }, other] = [await receiver(), await receiver()];
  const { folder, args } = await makeWorld(`email\nmiss1@works.example\na1@works.example\n`);
  const job = { steps: 'enrich', 'alerts.matchRateBelow': '90%', 'onFinish.url': url, 'onTrouble.url': other.url };
  const env = { MILLRACE_WEBHOOK_SECRET: SECRET };
  expect(await folder.run(args(job), { env })).toMatchObject({ code: 1 });
  expect(messages.splice(0).map(parsed)).toMatchObject([{ type: 'job.finished', data: { exitCode: 1 } }]);
  expect(other.messages.map(parsed)).toMatchObject([{ type: 'job.trouble', data: { exitCode: 1 } }]);
  expect(await folder.run(args({ ...job, 'onTrouble.url': url, output: 'again.csv' }), { env })).toMatchObject({ code: 1 });
  expect(messages.map(parsed)).toMatchObject([{ type: 'job.trouble', data: { exitCode: 1 } }]);
});

test.each([
  ['no secret', {}, 'there is no secret'],
  ['a short secret', { MILLRACE_WEBHOOK_SECRET: 'whsec_c2hvcnQ=' }, 'is no secret of Standard Webhooks'],
  ['a secret file that is not there', { MILLRACE_WEBHOOK_SECRET_FILE: 'nowhere' }, 'which cannot be read: ENOENT'],
])('a job with a signed message and %s ends with 78 before anything is called', async (_, env, reason) => {
  const { folder, service, args } = await makeWorld(LEADS);
  const ended = await folder.run(args({ 'onFinish.url': 'http://127.0.0.1:9/T0KEN', progress: 'log' }), { env });
  expect(ended).toMatchObject({ code: 78, stderr: expect.stringContaining(reason) });
  expect(ended.stderr).toContain('MILLRACE_WEBHOOK_SECRET');
  expect([service.requests.length, ended.stderr.includes('T0KEN')]).toEqual([0, false]);
});

test('the completion marker comes last, only after success, and a new run removes it', async () => {
  const { folder, args } = await makeWorld(LEADS);
  const job = { steps: 'enrich', 'output.marker': 'out.done' };
  expect(await folder.run(args({ ...job, 'max-calls': '5' }))).toMatchObject({ code: 77 });
  expect(await folder.files()).not.toContain('out.done');
  expect(await folder.run(args(job))).toMatchObject({ code: 0 });
  const { output } = (await folder.json('out.csv.report.json')) as { output: { sha256: string } };
  expect(await folder.json('out.done')).toMatchObject({ job: 'out', rows: 20, sha256: output.sha256, output: 'out.csv' });
  // The same job again changes nothing. A new run begins without the marker.
  expect(await folder.run(args(job))).toMatchObject({ code: 0 });
  expect(await folder.files()).toContain('out.done');
  const again = { ...job, fresh: true, 'max-calls': '1', ledger: 'other.ledger' };
  expect(await folder.run(args(again))).toMatchObject({ code: 77 });
  expect(await folder.files()).not.toContain('out.done');
});

test('a file of another program at the name of the marker stays, and nothing is called', async () => {
  const { folder, service, args } = await makeWorld(LEADS);
  await writeFile(folder.at('notes.txt'), '{"mine": true}');
  const ended = await folder.run(args({ steps: 'enrich', 'output.marker': 'notes.txt' }));
  expect(ended).toMatchObject({ code: 65, stderr: expect.stringContaining('notes.txt exists, and is no completion marker') });
  expect([await folder.read('notes.txt'), service.requests.length]).toEqual(['{"mine": true}', 0]);
});

test('a marker gets its folder, and one that cannot have a folder ends the run before anything is called', async () => {
  const { folder, service, args } = await makeWorld(LEADS);
  await writeFile(folder.at('file'), '');
  expect(await folder.run(args({ steps: 'enrich', 'output.marker': 'file/done' }))).toMatchObject({ code: 74 });
  expect(service.requests).toEqual([]);
  expect(await folder.run(args({ steps: 'enrich', 'output.marker': 'new/folder/done', fresh: true }))).toMatchObject({ code: 0 });
  expect(await folder.json('new/folder/done')).toMatchObject({ rows: 20 });
});

test('a signal ends the wait for a receiver that does not answer, and the finished run keeps its exit code', async () => {
  const { url, messages, asked } = await receiver(null);
  const { folder, args } = await makeWorld(LEADS);
  const run = folder.start(args({ steps: 'enrich', 'onFinish.url': url, 'onFinish.format': 'slack' }));
  await asked;
  run.kill('SIGTERM');
  expect(await run.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('no answer in time') });
  // Without the signal there are more attempts, of ten seconds each.
  expect(messages).toHaveLength(1);
});
