/** A full disk for the rows, the checkpoint, the ledger or standard input, during a run or from its start. */
import { describe, expect, test } from 'vitest';
import { ensureRoot } from '../services/debian.ts';
import { mountSmallDisk } from '../services/tmpfs.ts';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld } from '../support/world.ts';
import { expectMended, expectWords, undisturbed } from './mended.ts';

const ROWS = leads(700, 51);
const LENIENT = { 'max-errors': '100%' };
const whole = undisturbed(toCsv(ROWS), LENIENT);
const archived = undisturbed(toCsv(ROWS), { ...LENIENT, output: 'out.csv.gz' });

const ELSEWHERE = { checkpoint: 'ck.json', ledger: 'lg' };

describe.skipIf(!ensureRoot())('a full disk', () => {
  test.each([
    ['the rows', { ...ELSEWHERE, output: 'disk/out.csv' }, '64k', /disk\/out\.csv\.partial could not be (?:written|flushed): ENOSPC/],
    [
      'the rows of an archive',
      { ...ELSEWHERE, output: 'disk/out.csv.gz' },
      '8k',
      /disk\/out\.csv\.gz\S*\.partial could not be (?:written|flushed): ENOSPC/,
    ],
    [
      'the ledger',
      { ...ELSEWHERE, output: 'out.csv', ledger: 'disk/lg' },
      '512k',
      /the ledger \S*disk\/lg could not be read or written: (?:database or disk is full|disk I\/O error)/,
    ],
    ['all of them', { output: 'disk/out.csv', ledger: 'disk/out.csv.ledger' }, '576k', /ENOSPC|disk is full|disk I\/O error/],
  ])('space that runs out while %s grow is 74, and with free space the same command finishes', async (_, more, size, words) => {
    const world = await makeWorld(toCsv(ROWS));
    const disk = mountSmallDisk(world.folder.at('disk'), size);
    const args = world.args({ ...LENIENT, ...more });
    const ended = await world.folder.run(args);
    expect(ended.code).toBe(74);
    expectWords(ended, words);
    expect(await world.folder.files()).not.toContain(more.output);
    disk.free();
    await expectMended(world, await (more.output.endsWith('.gz') ? archived : whole)(), { args, ...more });
  });

  test.each([
    [
      'the checkpoint',
      { output: 'out.csv', checkpoint: 'disk/ck.json', ledger: 'lg' },
      /the checkpoint \S*disk\/ck\.json could not be written: ENOSPC/,
    ],
    ['everything', { output: 'disk/out.csv', ledger: 'disk/out.csv.ledger' }, /ENOSPC|disk is full|disk I\/O error/],
  ])('space that runs out suddenly for %s is 74, and with free space the same command finishes', async (_, more, words) => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, service } = world;
    const disk = mountSmallDisk(folder.at('disk'), '8m');
    const args = world.args({ ...LENIENT, ...more });
    service.latencyMs = 5;
    const run = folder.start(args);
    await service.sees(200);
    await disk.keepFull(run.ended);
    const ended = await run.ended;
    expect(ended.code).toBe(74);
    expectWords(ended, words);
    expect(ended.stderr).toMatch(/Free (?:some space|the disk)/);
    disk.free();
    await expectMended(world, await whole(), { args, ...more });
  });

  test('before the run begins is 74 without a call, and with free space it runs', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const disk = mountSmallDisk(world.folder.at('disk'), '64k');
    await disk.keepFull(Promise.resolve());
    const args = world.args({ ...LENIENT, output: 'disk/out.csv' });
    const ended = await world.folder.run(args);
    expect(ended.code).toBe(74);
    expectWords(ended, /ENOSPC|disk is full/);
    expect(world.service.requests).toEqual([]);
    disk.free();
    await expectMended(world, await whole(), { args, output: 'disk/out.csv' });
  });

  test('under the spooled standard input is 74 without a call, and with free space the same input runs', async () => {
    const world = await makeWorld();
    const disk = mountSmallDisk(world.folder.at('disk'), '16k');
    const args = world.args({ ...LENIENT, input: '-', scratch: 'disk' });
    const options = { stdin: toCsv(ROWS) };
    const ended = await world.folder.run(args, options);
    expect(ended.code).toBe(74);
    expectWords(ended, /Standard input could not be kept in \S*disk\/\S+: ENOSPC/);
    expect(world.service.requests).toEqual([]);
    disk.free();
    const expected = await whole();
    await expectMended(
      world,
      { ...expected, errors: expected.errors.map((error) => ({ ...(error as object), file: '-' })) },
      { args, options },
    );
  });
});
