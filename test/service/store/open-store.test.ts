/** Two processes and one store that was made for nothing, which one of them removes. */
import { readdirSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { openStore } from '../../../src/service/store/open-store.ts';
import { temporaryFolder } from '../harness.ts';

const OTHER = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.module).then(({ openStore }) => {
    const store = openStore(workerData.path, 60_000);
    store.exec("INSERT INTO sources (name) VALUES ('crm.csv')");
    store.close();
    parentPort.postMessage('done');
  });
`;

/** Where this process has the file open. */
function handlesOn(path: string): number {
  const real = realpathSync(path);
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === real;
    } catch {
      return false;
    }
  }).length;
}

it('is made anew by whoever waited for it while it was removed', async () => {
  const path = join(await temporaryFolder(), 's.sqlite');
  openStore(path).close();
  const remover = new DatabaseSync(path);
  remover.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  const before = handlesOn(path);
  const other = new Worker(OTHER, { eval: true, workerData: { path, module: new URL('../../../src/service/store/open-store.ts', import.meta.url).href } });
  const ended = new Promise((resolve, reject) => other.once('message', resolve).once('error', reject));
  // From here on it waits for the lock.
  while (handlesOn(path) === before) await setImmediate();
  rmSync(path);
  remover.close();
  expect(await ended).toBe('done');
  const store = openStore(path);
  expect(store.prepare('SELECT name FROM sources').all()).toContainEqual({ name: 'crm.csv' });
  store.close();
});
