/** The service, killed at any moment: every answered enrichment is delivered, perhaps by the next process. */
import { readFile, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { Receiver, signedBy } from '../service/webhooks/receiver.ts';
import { cleanUp } from '../support/clean-up.ts';
import { Folder } from '../support/cli.ts';
import { createKey, serve, type ServedProcess } from '../support/served.ts';

async function makeFolder(): Promise<{ readonly folder: Folder; readonly key: string }> {
  const folder = await Folder.make();
  cleanUp(() => folder.remove());
  await writeFile(folder.at('crm.csv'), 'email,name\nada@acme.example,Ada Example\n');
  await folder.run(['import', '--store', 's.sqlite', '--contacts', 'crm.csv']);
  return { folder, key: await createKey(folder, 's.sqlite', '--plan', 'enterprise') };
}

async function post(
  url: string,
  key: string,
  body: unknown,
): Promise<{ readonly status: number; readonly json: Readonly<Record<string, unknown>> }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

const start = (folder: Folder): Promise<ServedProcess> => serve(folder, ['--store', 's.sqlite', '--development', '--no-smtp']);

it('a service killed between its write and its delivery, or during it, delivers every answered enrichment in the end', async () => {
  const { folder, key } = await makeFolder();
  const receiver = await Receiver.start();
  const first = await start(folder);
  const { json: made } = await post(`${first.url}/v1/webhooks`, key, { event: 'enrichment.completed', url: receiver.url() });
  // Nothing is answered, so no delivery ends.
  receiver.usual = () => undefined;
  const answered = new Set<string>();
  const worker = async (n: number): Promise<void> => {
    for (let at = 0; ; at++) {
      const mark = `${n}-${at}`;
      const reply = await post(`${first.url}/v1/enrich`, key, { email: 'ada@acme.example', webhook_url: receiver.url(`/${mark}`) }).catch(
        () => null,
      );
      if (reply === null) return;
      expect(reply.status).toBe(200);
      answered.add(mark);
      if (answered.size === 60) first.kill('SIGKILL');
    }
  };
  await Promise.all([1, 2, 3, 4].map(worker));
  expect((await first.ended).signal).toBe('SIGKILL');
  // Earlier deliveries may still be on their way, but arrive before this one.
  void fetch(receiver.url('/after'), { method: 'POST', body: '{}' }).catch(() => undefined);
  while (!receiver.received.some(({ path }) => path === '/after')) await receiver.count(receiver.received.length + 1);
  const heard = receiver.received.length;
  receiver.server.closeAllConnections();

  // As if the minute had passed for which the killed process had reserved deliveries.
  const store = new DatabaseSync(folder.at('s.books.sqlite'));
  store.exec('UPDATE webhook_deliveries SET next_at = 0 WHERE next_at IS NOT NULL');
  const { waiting } = store.prepare('SELECT count(*) AS waiting FROM webhook_deliveries WHERE next_at IS NOT NULL').get() as {
    waiting: number;
  };
  store.close();
  expect(waiting).toBeGreaterThanOrEqual(2 * answered.size);
  receiver.usual = 200;
  const second = await start(folder);
  const deliveries = (await receiver.count(heard + waiting)).slice(heard);
  second.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
  const paths = deliveries.map(({ path }) => path);
  for (const mark of answered) expect(paths).toContain(`/${mark}`);
  expect(paths.filter((path) => path === '/hook').length).toBeGreaterThanOrEqual(answered.size);
  expect(deliveries.filter(({ path }) => path === '/hook').every((one) => signedBy(one, [String(made['secret'])]).length === 1)).toBe(true);
  // A repeated delivery has the same id.
  const ids = (all: typeof deliveries): Set<unknown> => new Set(all.map(({ headers }) => headers['webhook-id']));
  expect(ids(deliveries).size).toBe(waiting);
  const before = receiver.received.slice(0, heard).filter(({ path }) => path !== '/after');
  expect([...ids(before)].every((id) => ids(deliveries).has(id))).toBe(true);
});

it('an import is delivered once, and the receiver of the docs accepts its signatures', async () => {
  const { folder, key } = await makeFolder();
  const one = await start(folder);
  const receiver = await Receiver.start();
  const { json: made } = await post(`${one.url}/v1/webhooks`, key, { events: ['funding.round', 'job.change'], url: receiver.url() });
  const code = /```js\n([\s\S]*?)```/.exec(await readFile('docs/webhooks.md', 'utf8'))?.[1] ?? '';
  await writeFile(
    folder.at('receiver.mjs'),
    code.replace(/\.listen\((.*)\);/, '.listen(0, function () { console.log(this.address().port); });'),
  );
  const shown = folder.start([], { program: [process.execPath, 'receiver.mjs'], env: { WEBHOOK_SECRET: String(made['secret']) } });
  await shown.says(/^\d+$/m);
  await writeFile(
    folder.at('news.jsonl'),
    Array.from(
      { length: 300 },
      (_, n) => `${JSON.stringify({ id: `s${n}`, type: 'funding', domain: 'acme.example', occurred_at: '2026-01-01' })}\n`,
    ).join(''),
  );
  await folder.run(['import', '--store', 's.sqlite', '--signals', 'news.jsonl']);
  const all = await receiver.count(300);
  // The same delivery to the receiver of the docs, unchanged and with another body.
  const [delivery] = all;
  const headers = Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, String(delivery?.headers[name])]),
  );
  const send = async (body: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${shown.stdout().trim()}`, { method: 'POST', headers, body })).status;
  expect([await send(delivery?.text ?? ''), await send(`${delivery?.text} `)]).toEqual([204, 401]);
  one.kill('SIGTERM');
  const { stderr } = await one.ended;
  expect([receiver.received.length, new Set(all.map(({ body }) => body.data['id'])).size]).toEqual([300, 300]);
  // A secret contains characters that are special in a regular expression.
  const untold = ['whsec_', String(made['secret']).slice(6, 16), new URL(receiver.url()).host, 'acme'];
  expect(untold.filter((text) => stderr.includes(text))).toEqual([]);
});
