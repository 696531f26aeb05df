/** Two processes open one new store, and one of them removes it. */
import { readdirSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { openStore } from '../../../src/service/store/open-store.ts';
import { booksOf } from '../../../src/service/store/owner/store-name.ts';
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

/** Links to the store file among this process's open files. */
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

it('a process that waits for a store creates it again if it was removed meanwhile', async () => {
  const path = join(await temporaryFolder(), 's.sqlite');
  openStore(path).close();
  const remover = new DatabaseSync(path);
  remover.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  const before = handlesOn(path);
  const other = new Worker(OTHER, {
    eval: true,
    workerData: { path, module: new URL('../../../src/service/store/open-store.ts', import.meta.url).href },
  });
  const ended = new Promise((resolve, reject) => other.once('message', resolve).once('error', reject));
  // From here on, it waits for the lock.
  while (handlesOn(path) === before) await setImmediate();
  rmSync(booksOf(path));
  rmSync(path);
  remover.close();
  expect(await ended).toBe('done');
  const store = openStore(path);
  expect(store.prepare('SELECT name FROM sources').all()).toContainEqual({ name: 'crm.csv' });
  store.close();
});
