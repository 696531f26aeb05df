import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint-file.ts';
import { commitAgain } from '../../../src/job/lifecycle/commit.ts';
import type { JobPaths } from '../../../src/job/lifecycle/paths.ts';
import { ALONE } from '../../support/fence.ts';

const ROWS = 'a,result.outcome\n1,matched\n';

let folder: string;
let paths: JobPaths;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'finish-'));
  paths = { output: join(folder, 'out.csv'), errors: join(folder, 'out.csv.errors.jsonl') } as JobPaths;
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

  it('does not mistake the output of another run for them', async () => {
    const gone = { exitCode: 65, code: 'output_missing', hint: expect.stringContaining('--fresh') };
    await expect(commitAgain(paths, checkpoint, ALONE)).rejects.toMatchObject(gone);
    await writeFile(paths.output, 'the output of the run before');
    await expect(commitAgain(paths, checkpoint, ALONE)).rejects.toMatchObject(gone);
    expect(await readFile(paths.output, 'utf8')).toBe('the output of the run before');
  });
});
