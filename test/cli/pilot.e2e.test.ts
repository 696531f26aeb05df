/** A pilot: a job with `--limit`, then with a higher one. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { toCsv } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld } from '../support/world.ts';
import { errorsOf, finished, LENIENT, ROWS, uninterrupted } from './job-states.ts';
import { SEED } from '../support/seed.ts';

describe(`a pilot (SEED=${SEED})`, () => {
  test.each(sampleOf(['out.csv', 'out.csv.gz', 'out.jsonl.zst'], 1))(
    'to %s continues with a higher limit: the output is that of a run without a limit, and each lookup is paid once',
    async (output) => {
      const expected = await finished({ output });
      const { folder, service, args } = await makeWorld(toCsv(ROWS));
      for (const limit of ['100', '150', false] as const) {
        expect((await folder.run(args({ ...LENIENT, output, limit }))).code).toBe(0);
        if (limit === '100') {
          const bytes = await readFile(folder.at(output));
          if (output === 'out.csv.gz')
            expect(
              gunzipSync(bytes)
                .toString()
                .split('\n')
                .filter((line) => /^(Näme|Again) \d/.test(line)).length,
            ).toBe(100);
          expect((await folder.json(`${output}.report.json`))['records']).toMatchObject({ total: 100 });
        }
      }
      expect(service.repeated).toBe(0);
      expect(await readFile(folder.at(output))).toEqual(expected.before);
      const [ours, unlimited] = [await folder.json(`${output}.report.json`), await expected.folder.json(`${output}.report.json`)];
      expect([ours['records'], ours['output'], ours['lookups']]).toEqual([unlimited['records'], unlimited['output'], unlimited['lookups']]);
      expect((ours['calls'] as { enrich: number }).enrich).toBe(service.calls.enrich);
    },
  );

  test('gives the same output when it is killed while it continues', async () => {
    const expected = await uninterrupted();
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    expect((await folder.run(args({ ...LENIENT, limit: '100' }))).code).toBe(0);
    service.latencyMs = 3;
    const more = folder.start(args(LENIENT));
    await service.sees(60);
    more.kill('SIGKILL');
    await more.ended;
    expect((await folder.run(args(LENIENT))).code).toBe(0);
    expect(await readFile(folder.at('out.csv'))).toEqual(expected.output);
  });

  test('writes all rows again when its errors file was removed, and pays for none', async () => {
    const expected = await uninterrupted();
    const { folder, service, args } = await makeWorld(toCsv(ROWS));
    expect((await folder.run(args({ ...LENIENT, limit: '100' }))).code).toBe(0);
    await rm(folder.at('out.csv.errors.jsonl'));
    expect(await folder.run(args({ ...LENIENT, progress: 'log' }))).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('out.csv.errors.jsonl is gone: all rows are written again, from the ledger'),
    });
    expect(service.repeated).toBe(0);
    expect(await readFile(folder.at('out.csv'))).toEqual(expected.output);
    expect(await errorsOf(folder)).toBe(expected.errors);
  });

  test('refuses a lower limit, and an output that was edited', async () => {
    const { folder, service, args } = await finished({ limit: '100' });
    const lower = await folder.run(args({ ...LENIENT, limit: '50' }));
    expect(lower).toMatchObject({ code: 78, stderr: expect.stringMatching(/limits\.limit was 100 and is now 50; it can only be raised/) });
    await writeFile(folder.at('out.csv'), 'edited by somebody\n');
    const edited = await folder.run(args({ ...LENIENT, limit: '200' }));
    expect(edited).toMatchObject({ code: 65, stderr: expect.stringMatching(/out\.csv is no longer as this job wrote it/) });
    expect(await folder.read('out.csv')).toBe('edited by somebody\n');
    await rename(folder.at('out.csv'), folder.at('mine.csv'));
    expect((await folder.run(args({ ...LENIENT, limit: '200' }))).code).toBe(0);
    expect(service.calls.enrich).toBeGreaterThan(0);
    expect(service.repeated).toBe(0);
  });
});
