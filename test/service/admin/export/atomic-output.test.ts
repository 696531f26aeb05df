import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AtomicOutput, writeAtomically } from '../../../../src/service/admin/export/atomic-output.ts';
import { makePublicFolder } from '../../../services/public-folder.ts';
import { cleanUp } from '../../../support/clean-up.ts';
import { temporaryFolder } from '../../harness.ts';

/** How much later the second of two exports begins. One export takes about 15 turns. */
const GAPS = [0, 1, 2, 4, 6, 8, 10, 12, 15, 20];

describe('an atomic output file', () => {
  it('the file appears when it is complete, for its owner only; a failure leaves the old file unchanged', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'new', 'out');
    for (const text of ['one', 'two']) {
      expect(
        await writeAtomically(path, async (partial) => {
          await writeFile(partial, text);
          return text.length;
        }),
      ).toBe(3);
      expect([await readFile(path, 'utf8'), (await stat(path)).mode & 0o777]).toEqual([text, 0o600]);
    }
    await expect(
      writeAtomically(path, async (partial) => {
        await writeFile(partial, 'half');
        throw new Error('no more');
      }),
    ).rejects.toThrow('no more');
    expect([await readFile(path, 'utf8'), await readdir(join(folder, 'new'))]).toEqual(['two', ['out']]);
  });

  it.each([
    ['the first', 0],
    ['the second', 1],
  ])('the later one of two simultaneous exports is published when %s is complete first', async (_which, before) => {
    const folder = await temporaryFolder();
    const path = join(folder, 'out');
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const begun: Promise<unknown>[] = [];
    for (const [n, gate] of gates.entries()) {
      const isWriting = Promise.withResolvers<void>();
      const written = writeAtomically(path, async (partial) => {
        const file = await open(partial, 'r+');
        isWriting.resolve();
        await gate.promise;
        await file.write(`whole ${n}`);
        await file.close();
        return n;
      });
      begun.push(written.catch((error: unknown) => error));
      await isWriting.promise;
    }
    gates[before as 0 | 1].resolve();
    await begun[before as 0 | 1];
    gates[before === 0 ? 1 : 0].resolve();
    const [first, second] = await Promise.all(begun);
    expect(first).toMatchObject({ exitCode: 65, code: 'output_not_ours' });
    expect([second, await readFile(path, 'utf8')]).toEqual([1, 'whole 1']);
    expect(await readdir(folder)).toEqual(['out']);
  });

  it.each(GAPS.map((gap) => [gap] as const))(
    'of two exports of the same file, %d turns of the event loop apart, each that succeeds has published its own whole file',
    async (gap) => {
      const path = join(await temporaryFolder(), 'out');
      const written = async (n: number, turns: number): Promise<number> => {
        for (let turn = 0; turn < turns; turn++) await setImmediate();
        return writeAtomically(path, async (partial) => {
          const file = await open(partial, 'r+');
          await file.write(`whole ${n}`);
          await file.close();
          return n;
        });
      };
      const both = await Promise.allSettled([written(0, 0), written(1, gap)]);
      for (const one of both) if (one.status === 'rejected') expect(one.reason).toMatchObject({ exitCode: 65, code: 'output_not_ours' });
      const whole = both.flatMap((one) => (one.status === 'fulfilled' ? [`whole ${one.value}`] : []));
      expect(whole).toContain(await readFile(path, 'utf8'));
    },
  );

  it('an export never writes into the file of another one that begins meanwhile, and never publishes it', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'out');
    const first = await AtomicOutput.begin(path);
    const second = await AtomicOutput.begin(path);
    await second.fill((partial) => writeFile(partial, 'second'));
    await expect(first.fill((partial) => writeFile(partial, 'first', { flag: 'r+' }))).rejects.toMatchObject({ code: 'output_not_ours' });
    await expect(first.publish()).rejects.toMatchObject({ exitCode: 65, code: 'output_not_ours' });
    await first.close();
    await second.publish();
    await second.close();
    expect([await readFile(path, 'utf8'), await readdir(folder)]).toEqual(['second', ['out']]);
  });

  it('the next export removes what a killed one has left, and nothing else', async () => {
    const folder = await temporaryFolder();
    const killed = await AtomicOutput.begin(join(folder, 'out'));
    await killed.fill((partial) => writeFile(`${partial}-journal`, 'rolled back'));
    const others = ['out.2.partial', 'out.csv.0123456789abcdef.partial', 'out.partial'];
    for (const name of others) await writeFile(join(folder, name), 'theirs');
    await writeAtomically(join(folder, 'out'), (partial) => writeFile(partial, 'whole'));
    expect((await readdir(folder)).sort()).toEqual(['out', ...others]);
  });

  it('a file can be written into a folder without read permission, which cannot be flushed', async () => {
    const folder = await makePublicFolder('millrace-drop-');
    cleanUp(() => rm(folder, { recursive: true }));
    await mkdir(join(folder, 'drop'));
    // Root may read any folder. The process drops root after all modules are loaded, because only root may be able to enter the checkout.
    const isRoot = process.getuid?.() === 0;
    const becomeNobody = isRoot ? 'process.setgroups([]); process.setgid(65_534); process.setuid(65_534);' : '';
    if (isRoot) for (const path of [folder, join(folder, 'drop')]) await chown(path, 65_534, 65_534);
    await chmod(join(folder, 'drop'), 0o300);
    const module = new URL('../../../../src/service/admin/export/atomic-output.ts', import.meta.url).href;
    const script =
      `const { writeAtomically } = await import(${JSON.stringify(module)}); const { writeFile } = await import('node:fs/promises'); ` +
      `${becomeNobody} await writeAtomically('drop/out', (partial) => writeFile(partial, 'whole'));`;
    expect(spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: folder, encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    });
    await chmod(join(folder, 'drop'), 0o700);
    expect(await readFile(join(folder, 'drop', 'out'), 'utf8')).toBe('whole');
  });
});
