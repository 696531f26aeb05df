/** A job's folder as files of the repository, and back. The folder's own path is `{FOLDER}` in them, and ledgers are compressed. */
import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Folder } from '../support/cli.ts';
import { GOLDEN, writeGolden } from './golden-file.ts';
import type { Vendors } from './vendors.ts';

const HERE = '{FOLDER}';
/** How often the services were asked for what, which decides their next answers. */
const ASKED = 'asked.json';
const LEDGER = /\.ledger$/;
const SEAL = /,"sha256":"[0-9a-f]{64}"\}\s*$/;

/** Saves what the job left beside its input. @param name below fixtures/golden */
export async function saveFolder(name: string, folder: Folder, vendors: Vendors, inputs: readonly string[]): Promise<void> {
  await rm(join(GOLDEN, name), { recursive: true, force: true });
  for (const file of await folder.files()) {
    if (inputs.includes(file) || /-(?:wal|shm)$/.test(file) || file.endsWith('.report.html')) continue;
    if (LEDGER.test(file)) await writeGolden(`${name}/${file}.gz`, gzipSync(await ledgerBytes(folder.at(file)), { level: 9 }));
    else {
      const text = (await folder.read(file)).replaceAll(folder.path, HERE);
      await writeGolden(`${name}/${file}`, file.endsWith('.lock') ? elsewhere(text) : text.replace(SEAL, '}\n'));
    }
  }
  await writeGolden(`${name}/${ASKED}`, `${JSON.stringify([...vendors.asked], null, 1)}\n`);
}

/** Puts the saved files into a folder, with the checksums of checkpoints. */
export async function loadFolder(name: string, folder: Folder, vendors: Vendors): Promise<void> {
  const from = join(GOLDEN, name);
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const to = folder.at(path.slice(from.length + 1));
    if (entry.name === ASKED)
      for (const [what, times] of JSON.parse(await readFile(path, 'utf8')) as [string, number][]) vendors.asked.set(what, times);
    else {
      await mkdir(dirname(to), { recursive: true });
      if (entry.name.endsWith('.gz')) await writeFile(to.replace(/\.gz$/, ''), gunzipSync(await readFile(path)));
      else await writeFile(to, sealed(entry.name, (await readFile(path, 'utf8')).replaceAll(HERE, folder.path)));
    }
  }
}

/** A checkpoint ends with the checksum of the text before it. */
function sealed(name: string, text: string): string {
  if (!/\.checkpoint\.json(?:\.shard-\d+-of-\d+)?$/.test(name)) return text;
  const json = text.trimEnd();
  return `${json.slice(0, -1)},"sha256":"${hash('sha256', json)}"}\n`;
}

/** A ledger as one file, as another machine left it: no process of this machine is the one that had it open. */
async function ledgerBytes(path: string): Promise<Buffer> {
  const db = new DatabaseSync(path);
  for (const { id, process } of db.prepare('SELECT id, process FROM holders').all())
    db.prepare('UPDATE holders SET process = ?, renewed_at = 0 WHERE id = ?').run(elsewhere(String(process)), Number(id));
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return readFile(path);
}

/** The description of a process, moved to a machine that does not exist. */
function elsewhere(text: string): string {
  return JSON.stringify({ ...(JSON.parse(text) as object), host: 'golden', boot: '', pid: 1, processStart: '', renewedAt: 0 });
}
