import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { refuseMissingFolder } from '../../../src/job/lifecycle/output-folder.ts';
import { EXIT } from '../../../src/util/errors.ts';
import { compiled, LEAST } from '../../definition/support.ts';

const refuse = (output: string): void => refuseMissingFolder(compiled({ flags: { ...LEAST, output } }));

test('a mistyped folder is no new folder: the nearest one that exists is named, before anything is paid for', () => {
  const folder = mkdtempSync(join(tmpdir(), 'output-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  expect(() => refuse(join(folder, 'leadz/new/out.csv'))).toThrow(
    expect.objectContaining({
      exitCode: EXIT.storage,
      code: 'output_folder',
      message: `the folder ${join(folder, 'leadz/new')} of the output does not exist; the nearest that does is ${folder}`,
    }),
  );
});

test('a job under way decides for itself what a folder that is gone means', () => {
  const folder = mkdtempSync(join(tmpdir(), 'output-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const checkpoint = join(folder, 'state.json');
  const output = join(folder, 'gone/out.csv');
  const job = compiled({ flags: { ...LEAST, output, checkpoint } });
  expect(() => refuseMissingFolder(job)).toThrow('does not exist');
  writeFileSync(checkpoint, '{}');
  refuseMissingFolder(job);
});

test('a folder inside the working directory, a dated one, an existing one, S3 and standard output are fine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'output-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const output of ['new/folder/out.csv', join(folder, '{date}/out.csv'), join(folder, 'out-{date}.csv'), 's3://leads/out.csv', '-'])
    refuse(output);
  expect(() => refuse(join(folder, 'none/{date}/out.csv'))).toThrow(`the nearest that does is ${folder}`);
});
