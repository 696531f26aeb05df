import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint-file.ts';
import { commitAgain } from '../../../src/job/lifecycle/commit.ts';
import type { JobPaths } from '../../../src/job/lifecycle/paths.ts';
import type { RowFile } from '../../../src/writer/row-files.ts';
import { present } from '../../../src/util/assert.ts';
import { ALONE } from '../../support/fence.ts';

const ROWS = 'a,result.outcome\n1,matched\n';

let folder: string;
let paths: Pick<JobPaths, RowFile>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'finish-'));
  const output = join(folder, 'out.csv');
  paths = { output, errors: `${output}.errors.jsonl`, open: `${output}.open.jsonl` };
});
afterEach(() => rm(folder, { recursive: true }));

describe('commitAgain', () => {
  const checkpoint = {
    result: { bytes: ROWS.length, errorBytes: 0, sha256: createHash('sha256').update(ROWS).digest('hex') },
  } as Checkpoint;

  it('gives the unfinished rows their final name', async () => {
    await writeFile(`${paths.output}.partial`, ROWS);
    await writeFile(paths.output, 'the output of the run before');
    await commitAgain(paths, checkpoint, ALONE);
    expect(await readFile(paths.output, 'utf8')).toBe(ROWS);
  });

  it('does nothing when they already have it', async () => {
    await writeFile(paths.output, ROWS);
    await commitAgain(paths, checkpoint, ALONE);
    expect(await readFile(paths.output, 'utf8')).toBe(ROWS);
  });

  it('gives each file of lines its name too, and removes one of the run before', async () => {
    const line = '{"file":"in.csv","line":2}\n';
    const sha256 = createHash('sha256').update(line).digest('hex');
    const whole = { ...checkpoint, result: { ...present(checkpoint.result, 'set'), openBytes: line.length, openSha256: sha256 } };
    await writeFile(paths.output, ROWS);
    await writeFile(paths.errors, 'of the run before');
    await writeFile(`${paths.open}.partial`, line);
    await commitAgain(paths, whole, ALONE);
    expect(await readFile(paths.open, 'utf8')).toBe(line);
    expect(await readdir(folder)).toEqual(['out.csv', 'out.csv.open.jsonl']);
    await writeFile(`${paths.open}.partial`, line.replace('2', '3'));
    await expect(commitAgain(paths, whole, ALONE)).rejects.toMatchObject({ exitCode: 74, code: 'partial_damaged' });
  });

  it('does not mistake the output of another run for them', async () => {
    const gone = { exitCode: 65, code: 'output_missing', hint: expect.stringContaining('--fresh') };
    await expect(commitAgain(paths, checkpoint, ALONE)).rejects.toMatchObject(gone);
    await writeFile(paths.output, 'the output of the run before');
    await expect(commitAgain(paths, checkpoint, ALONE)).rejects.toMatchObject(gone);
    expect(await readFile(paths.output, 'utf8')).toBe('the output of the run before');
  });
});
