import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { guardFormula } from '../../../src/formula-guard.ts';
import { exportCommand, type ExportSettings } from '../../../src/service/export/export-command.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { csvRow } from '../../../src/writer/csv-format.ts';
import { ensureRoot } from '../../services/debian.ts';
import { mountSmallDisk } from '../../services/tmpfs.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore, temporaryFolder } from '../harness.ts';
import { load } from '../loading.ts';

async function storeWith(people: readonly Record<string, unknown>[]): Promise<string> {
  const path = await makeStore();
  const store = openStore(path);
  await load(store, people);
  store.close();
  return path;
}

const exported = (store: string, outputs: ExportSettings['outputs']): Promise<unknown> =>
  exportCommand({ store, outputs, withSources: false }, new AbortController().signal).catch((error: unknown) => error);

describe('an export', () => {
  it('refuses an output that cannot be written before it writes any other', async () => {
    const [store, folder] = [await storeWith([{ email: 'ada@acme.example' }]), await temporaryFolder()];
    const contacts = { kind: 'contacts', path: join(folder, 'people.jsonl'), compression: 'none', tableRow: null } as const;
    const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      for (const path of ['/proc/no-such-process/out.jsonl', '/proc/out.jsonl']) {
        const failure = await exported(store, [contacts, { ...contacts, kind: 'companies', path }]);
        expect(failure).toMatchObject({ exitCode: 74, code: 'export_failed', message: expect.stringContaining(`cannot write ${path}`) });
      }
      expect(await exported(store, [contacts, { ...contacts, kind: 'companies', path: folder }])).toMatchObject({ exitCode: 65, code: 'output_not_ours' });
      expect([await readdir(folder), print.mock.calls]).toEqual([[], []]);
    } finally {
      print.mockRestore();
    }
  });

  it.skipIf(!ensureRoot())('ends with 74 on a full disk, compressed or not, and leaves nothing behind', async () => {
    const people = Array.from({ length: 2_000 }, (_, n) => ({ email: `p${n}@acme.example`, summary: Buffer.from(String(n * 7_919)).toString('hex').repeat(5) }));
    const [store, folder] = [await storeWith(people), await temporaryFolder()];
    const disk = mountSmallDisk(join(folder, 'disk'), '8k');
    cleanUp(() => void spawnSync('umount', ['-l', disk.path]));
    for (const compression of ['none', 'gzip', 'zstd'] as const) {
      const failure = await exported(store, [{ kind: 'contacts', path: join(disk.path, 'out.jsonl'), compression, tableRow: null }]);
      expect([compression, failure]).toEqual([compression, expect.objectContaining({ exitCode: 74, code: 'export_failed', message: expect.stringContaining('ENOSPC') })]);
      expect(await readdir(disk.path)).toEqual([]);
    }
  });

  it('gives a table cells that no spreadsheet runs, and the counts of all outputs', async () => {
    const [store, folder] = [await storeWith([{ email: 'ada@acme.example', title: '=1+1', headline: "'=2" }]), await temporaryFolder()];
    const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      const row = csvRow(',');
      await exported(store, [{ kind: 'contacts', path: join(folder, 'out.csv'), compression: 'none', tableRow: (cells) => row(cells.map(guardFormula)) }]);
      expect(print.mock.calls.map(([text]) => text)).toEqual(['{"contacts":4}\n']);
    } finally {
      print.mockRestore();
    }
    expect(await readFile(join(folder, 'out.csv'), 'utf8')).toMatch(/,''=2,'=1\+1,/);
  });
});
