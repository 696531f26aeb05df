/**
 * Lookups a second through a ledger in Redis, each of them claimed, answered and stored: `node bench/redis-ledger.ts [lookups] [runs]`.
 * A real server with an append-only file on this machine; several jobs over the same keys, each with its own working file.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentTeller } from '../src/ledger/options.ts';
import { RedisLedger } from '../src/ledger/redis/redis-ledger.ts';
import { RedisServer } from '../test/services/redis.ts';
import { scattered } from './support/leads.ts';
import { machine } from './support/processes.ts';

const lookups = Number(process.argv[2] ?? 20_000);
const runs = Number(process.argv[3] ?? 1);
const KEEP_EVERY = 2_000;
const ANSWER = {
  kind: 'hit',
  text: JSON.stringify({
    email: 'x'.repeat(30),
    name: 'Ada Example',
    title: 'Engineer',
    company: { name: 'Example Works', employees: 120, revenue: '$12M', stack: ['linux', 'postgres', 'react'] },
    verified: true,
  }),
} as const;

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const server = await RedisServer.start(['--appendonly', 'yes', '--appendfsync', 'everysec']);
let called = 0;

async function oneRun(name: string): Promise<void> {
  const now = Date.now();
  const ledger = await RedisLedger.open(server.uri, {
    path: join(folder, name),
    job: name,
    run: name,
    maxAgeDays: 1,
    now: Date.now,
    since: now,
    failedBy: 'time',
    keySeed: '',
    maxOutageMs: 10_000,
    tell: silentTeller,
    drain: undefined,
    abort: undefined,
  });
  const scope = ledger.scope('http://127.0.0.1', 'enrich', 'by email');
  const told: Promise<void>[] = [];
  for (let i = 0; i < lookups; i++) {
    for (let wait = ledger.room(); wait !== null; wait = ledger.room()) await wait;
    const key = `${scattered(i)}@works${i % 500}.example`;
    told.push(
      new Promise((resolve) =>
        ledger.ask(scope, key, (answer) => {
          if (answer === null) {
            called++;
            ledger.put([{ scope, key, answer: ANSWER }]);
          }
          resolve();
        }),
      ),
    );
    if (i % KEEP_EVERY === KEEP_EVERY - 1) await ledger.keep();
  }
  await Promise.all(told);
  await ledger.keep();
  await ledger.close();
}

try {
  const started = performance.now();
  await Promise.all(Array.from({ length: runs }, (_, i) => oneRun(`run-${i}`)));
  const seconds = (performance.now() - started) / 1_000;
  process.stdout.write(
    `${machine()}\n\n| runs at once | lookups of each | called for | lookups a second, all runs |\n` +
      `|---:|---:|---:|---:|\n| ${runs} | ${lookups} | ${called} | ${Math.round((runs * lookups) / seconds)} |\n`,
  );
} finally {
  await server.end();
  rmSync(folder, { recursive: true });
}
