/** The keys of a Redis database as a file, and back. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { GOLDEN, writeGolden } from './golden-file.ts';

type Value = string | Readonly<Record<string, string>>;

/** Saves all keys but those of living runs, which expire. @param name below fixtures/golden */
export async function saveRedis(name: string, uri: string): Promise<void> {
  const client = new Redis(uri);
  const saved: [string, Value][] = [];
  for (const key of (await client.keys('*')).sort()) {
    if (key.includes(':h:')) continue;
    saved.push([key, (await client.type(key)) === 'hash' ? await client.hgetall(key) : ((await client.get(key)) ?? '')]);
  }
  client.disconnect();
  await writeGolden(name, `${JSON.stringify(saved, null, 1)}\n`);
}

export async function loadRedis(name: string, uri: string): Promise<void> {
  const client = new Redis(uri);
  for (const [key, value] of JSON.parse(await readFile(join(GOLDEN, name), 'utf8')) as [string, Value][])
    if (typeof value === 'string') await client.set(key, value);
    else await client.hset(key, value);
  client.disconnect();
}
