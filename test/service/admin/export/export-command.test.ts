import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { exportCommand, type ExportSettings } from '../../../../src/service/admin/export/export-command.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import { ensureRoot } from '../../../services/debian.ts';
import { mountSmallDisk } from '../../../services/tmpfs.ts';
import { cleanUp } from '../../../support/clean-up.ts';
import { makeStore, temporaryFolder } from '../../harness.ts';
import { load } from '../../loading.ts';

async function storeWith(people: readonly Record<string, unknown>[]): Promise<string> {
  const path = await makeStore();
  const store = openStore(path);
  await load(store, people);
  store.close();
  return path;
}

const exported = (store: string, outputs: ExportSettings['outputs'], escapesFormulas = false): Promise<unknown> =>
  exportCommand({ store, outputs, withSources: false, escapesFormulas }, new AbortController().signal).catch((error: unknown) => error);

describe('an export', () => {
  it('refuses an output that cannot be written before it writes any other', async () => {
    const [store, folder] = [await storeWith([{ email: 'ada@acme.example' }]), await temporaryFolder()];
    const contacts = { kind: 'contacts', path: join(folder, 'people.jsonl'), format: 'jsonl', compression: 'none' } as const;
    const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      for (const path of ['/proc/no-such-process/out.jsonl', '/proc/out.jsonl']) {
        const failure = await exported(store, [contacts, { ...contacts, kind: 'companies', path }]);
        expect(failure).toMatchObject({ exitCode: 74, code: 'export_failed', message: expect.stringContaining(`cannot write ${path}`) });
      }
      expect(await exported(store, [contacts, { ...contacts, kind: 'companies', path: folder }])).toMatchObject({
        exitCode: 65,
        code: 'output_not_ours',
      });
      expect([await readdir(folder), print.mock.calls]).toEqual([[], []]);
    } finally {
      print.mockRestore();
    }
  });

  it.skipIf(!ensureRoot())('an export to a full disk ends with 74, compressed or not, and leaves no file behind', async () => {
    const people = Array.from({ length: 2_000 }, (_, n) => ({
      email: `p${n}@acme.example`,
      summary: Buffer.from(String(n * 7_919))
        .toString('hex')
        .repeat(5),
    }));
    const [store, folder] = [await storeWith(people), await temporaryFolder()];
    const disk = mountSmallDisk(join(folder, 'disk'), '8k');
    cleanUp(() => void spawnSync('umount', ['-l', disk.path]));
    for (const compression of ['none', 'gzip', 'zstd'] as const) {
      const failure = await exported(store, [{ kind: 'contacts', path: join(disk.path, 'out.jsonl'), format: 'jsonl', compression }]);
      expect([compression, failure]).toEqual([
        compression,
        expect.objectContaining({ exitCode: 74, code: 'export_failed', message: expect.stringContaining('ENOSPC') }),
      ]);
      expect(await readdir(disk.path)).toEqual([]);
    }
  });

  it('a table has cells that no spreadsheet runs, and the counts of all outputs are printed', async () => {
    const [store, folder] = [await storeWith([{ email: 'ada@acme.example', title: '=1+1', headline: "'=2" }]), await temporaryFolder()];
    const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      await exported(store, [{ kind: 'contacts', path: join(folder, 'out.csv'), format: 'csv', compression: 'none' }], true);
      expect(print.mock.calls.map(([text]) => text)).toEqual(['{"contacts":4}\n']);
    } finally {
      print.mockRestore();
    }
    expect(await readFile(join(folder, 'out.csv'), 'utf8')).toMatch(/,''=2,'=1\+1,/);
  });
});
