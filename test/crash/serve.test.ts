/** The service, killed at any moment: answers stay valid, and no key gets more than it bought. */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Folder } from '../support/cli.ts';
import { createKey, serve } from '../support/served.ts';

const CREDITS = 150;
const WORKERS = 6;

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
  await writeFile(folder.at('crm.csv'), 'email,name\nada@acme.example,Ada Example\n');
  await folder.run(['import', '--store', 's.sqlite', '--contacts', 'crm.csv']);
});
afterAll(() => folder.remove());

interface Reply {
  readonly status: number;
  readonly charged: number;
  readonly replayed: boolean;
  readonly text: string;
  readonly remaining: number;
  /** The service reported the remaining quota between these two times. */
  readonly sentMs: number;
  readonly heardMs: number;
}

async function enrich(url: string, key: string, idempotencyKey: string): Promise<Reply> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
  const sentMs = performance.now();
  const response = await fetch(`${url}/v1/enrich`, { method: 'POST', headers, body: '{"email":"ada@acme.example"}' });
  const text = await response.text();
  const number = (name: string): number => Number(response.headers.get(name));
  return {
    status: response.status,
    charged: number('x-credits-charged'),
    replayed: response.headers.has('idempotency-replayed'),
    text,
    remaining: number('x-ratelimit-remaining'),
    sentMs,
    heardMs: performance.now(),
  };
}

it('a service killed under load replays every answer free of charge, and gives or loses no credit or quota twice', async () => {
  const key = await createKey(folder, 's.sqlite', '--plan', 'growth', '--credits', String(CREDITS));
  const first = await serve(folder, ['--store', 's.sqlite']);
  const heard = new Map<string, Reply>();
  let sent = 0;
  const worker = async (): Promise<void> => {
    for (;;) {
      const name = `k${sent++}`;
      const reply = await enrich(first.url, key, name).catch(() => null);
      if (reply === null) return;
      heard.set(name, reply);
      if (heard.size >= CREDITS / 2) first.kill('SIGKILL');
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  expect((await first.ended).signal).toBe('SIGKILL');
  expect([...heard.values()].every(({ status, charged, replayed }) => status === 200 && charged === 1 && !replayed)).toBe(true);

  await writeFile(folder.at('crm.csv'), 'email,name\nada@acme.example,Ada Married\n');
  await folder.run(['import', '--store', 's.sqlite', '--contacts', 'crm.csv']);
  const second = await serve(folder, ['--store', 's.sqlite']);
  const last = [...heard.values()].at(-1) as Reply;
  const again = [];
  for (const name of heard.keys()) again.push(await enrich(second.url, key, name));
  expect(again.every(({ status, charged, replayed }) => status === 200 && charged === 0 && replayed)).toBe(true);
  expect(again.map(({ text }) => text)).toEqual([...heard.values()].map(({ text }) => text));
  expect(JSON.parse((await enrich(second.url, key, 'changed')).text)).toMatchObject({ name: 'Ada Married' });
  const [next] = again as [Reply];
  // The quota refills by a thousand a minute.
  expect(next.remaining).toBeLessThanOrEqual(last.remaining - 1 + Math.ceil(((next.heardMs - last.sentMs) * 1_000) / 60_000));

  // One more call was made after the import.
  let spent = heard.size + 1;
  for (let n = 0; ; n++) {
    const reply = await enrich(second.url, key, `new${n}`);
    if (reply.status === 402) break;
    expect([reply.status, reply.charged]).toEqual([200, 1]);
    spent++;
  }
  expect(spent).toBeLessThanOrEqual(CREDITS);
  // Charged but not received: requests in flight at the kill. Their Idempotency-Keys return the answers.
  const unheard = [];
  for (let n = 0; n < sent; n++) if (!heard.has(`k${n}`)) unheard.push(await enrich(second.url, key, `k${n}`));
  expect(unheard.length).toBeLessThanOrEqual(WORKERS);
  expect(spent + unheard.filter(({ status }) => status === 200).length).toBe(CREDITS);
  expect(unheard.every(({ charged }) => charged === 0)).toBe(true);
  second.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
});
