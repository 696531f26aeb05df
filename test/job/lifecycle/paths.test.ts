import { tmpdir } from 'node:os';
import { dirname, isAbsolute, resolve } from 'node:path';
import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { jobPaths, ownFiles, ownTemporaryFolder, type JobPaths } from '../../../src/job/lifecycle/paths.ts';
import { compiled, LEAST, type Flags } from '../../definition/support.ts';

const pathsOf = (flags: Flags = {}, scratch: string | null = null): JobPaths =>
  jobPaths(compiled({ flags: { ...LEAST, output: '/data/out.csv', ...flags } }), { scratch });

describe('the files of a job', () => {
  it('have names made from the output', () => {
    expect(pathsOf()).toMatchObject({
      output: '/data/out.csv',
      errors: '/data/out.csv.errors.jsonl',
      open: '/data/out.csv.open.jsonl',
      report: '/data/out.csv.report.json',
      reportPage: '/data/out.csv.report.html',
      checkpoint: '/data/out.csv.checkpoint.json',
      lock: '/data/out.csv.checkpoint.json.lock',
      ledger: '/data/out.csv.ledger',
    });
  });

  it('include a lock beside the checkpoint, and growing files beside the ledger or in --scratch', () => {
    expect(pathsOf({}, 'tmp/x')).toMatchObject({ spool: expect.stringMatching(new RegExp(`^${resolve('tmp/x')}/`)) });
    expect(dirname(pathsOf({ output: '-', 'output.format': 'csv' }).spool)).toBe(tmpdir());
  });

  it('lie in S3 with an S3 output; growing files and the copy of the ledger are local, named after the job', () => {
    const output = 's3://bucket/a b/out.csv';
    const paths = pathsOf({ output });
    expect(paths).toMatchObject({
      output,
      errors: `${output}.errors.jsonl`,
      report: `${output}.report.json`,
      reportPage: `${output}.report.html`,
      checkpoint: `${output}.checkpoint.json`,
      lock: `${output}.checkpoint.json.lock`,
    });
    expect([dirname(paths.ledger), dirname(paths.spool)]).toEqual([ownTemporaryFolder(), ownTemporaryFolder()]);
    expect(paths.sharedLedger).toBe(`${output}.ledger`);
    expect(pathsOf({ output }).ledger).toBe(paths.ledger);
    expect(pathsOf({ output, name: 'other' }).ledger).not.toBe(paths.ledger);
    expect(dirname(pathsOf({ output }, '/scratch').ledger)).toBe('/scratch');
    expect(pathsOf({ output, ledger: '/data/l', checkpoint: '/data/c' })).toMatchObject({ ledger: '/data/l', checkpoint: '/data/c' });
    const isOwn = ownFiles(paths);
    const own = [
      output,
      `${output}.partial`,
      `${output}.partial.0a1b2c3d.17`,
      `${output}.partial.0a1b2c3d.upload`,
      `${output}.errors.jsonl.partial.0a1b2c3d.1`,
      `${output}.open.jsonl`,
      `${output}.open.jsonl.partial.0a1b2c3d.1`,
      paths.lock,
      paths.report,
      paths.reportPage,
    ];
    expect(own.filter((path) => !isOwn(path))).toEqual([]);
    expect(
      ['s3://bucket/a b/in.csv', `${output}.partial.17`, 's3://other/a b/out.csv', 's3://bucket/a b/in.csv.partial.0a1b2c3d.17'].filter(
        (path) => isOwn(path),
      ),
    ).toEqual([]);
  });

  it('have absolute paths', () => {
    const named = {
      output: 'out.csv',
      checkpoint: 'c',
      ledger: '../l',
      'output.marker': 'done',
      'output.split': 'verdict',
      steps: 'verify',
    };
    const { sharedLedger, ...paths } = pathsOf(named, 's');
    for (const path of Object.values(paths).flat()) expect(isAbsolute(path ?? '')).toBe(true);
    expect(sharedLedger).toBeNull();
  });

  it('include one working copy per job of a remote ledger, in --scratch or in a private folder', () => {
    const shared = { ledger: 'redis://cache.example/0' };
    expect(pathsOf(shared, '/scratch')).toMatchObject({
      ledger: expect.stringMatching(/^\/scratch\/\.millrace-ledger-/),
      sharedLedger: 'redis://cache.example/0',
    });
    expect(dirname(pathsOf(shared).ledger)).toBe(ownTemporaryFolder());
    const files = [
      shared,
      { ...shared, output: '/data/other.csv' },
      { ledger: 'redis://cache.example/1' },
      { ledger: 's3://bucket/l' },
    ].map((flags) => pathsOf(flags).ledger);
    expect(new Set(files).size).toBe(4);
  });

  it('include a spool that differs by output and job, and is the same for the same ones', () => {
    const spools = [pathsOf().spool, pathsOf({ output: '/data/other.csv', ledger: '/data/l' }).spool, pathsOf({ name: 'other' }).spool];
    expect(new Set(spools).size).toBe(3);
    expect(pathsOf().spool).toBe(spools[0]);
  });
});

describe("the job's own files", () => {
  const paths = pathsOf();
  const isOwn = ownFiles(paths);

  it('include everything that it writes, finished, unfinished or half-written', () => {
    const own = [
      paths.output,
      `${paths.output}.partial`,
      paths.errors,
      `${paths.errors}.partial`,
      `${paths.output}.0a1b2c3d.tmp`,
      `${paths.output}.partial.0a1b2c3d.tmp`,
      `${paths.errors}.0a1b2c3d.tmp`,
      `${paths.errors}.partial.0a1b2c3d.tmp`,
      paths.report,
      `${paths.report}.0a1b2c3d.tmp`,
      paths.reportPage,
      `${paths.reportPage}.0a1b2c3d.tmp`,
      paths.checkpoint,
      `${paths.checkpoint}.0a1b2c3d.tmp`,
      paths.lock,
      `${paths.lock}.1b4e.tmp`,
      `${paths.lock}.1b4e.stale`,
      `${paths.lock}.1b4e.next`,
      `${paths.lock}.1b4e.next.77.removal`,
      paths.ledger,
      `${paths.ledger}-wal`,
      `${paths.ledger}-shm`,
      `${paths.ledger}-journal`,
      paths.spool,
      paths.arriving,
      `${paths.spool}.0a1b2c3d.tmp`,
      paths.shards,
      `${paths.shards}.0a1b2c3d.tmp`,
      `${paths.checkpoint}.shard-0-of-4`,
      `${paths.checkpoint}.shard-0-of-4.lock`,
      `${paths.output}.shard-0-of-4`,
      `${paths.output}.shard-11-of-12.partial`,
      `${paths.output}.shard-0-of-4.errors.jsonl.partial.0a1b2c3d.tmp`,
    ];
    expect(own.filter((path) => !isOwn(path))).toEqual([]);
  });

  it('include every file of its ledger', () => {
    const isOwnInS3 = ownFiles(pathsOf({ ledger: 's3://bucket/nightly.ledger' }));
    expect(isOwnInS3('s3://bucket/nightly.ledger/run/1-ab-000001.gz')).toBe(true);
    expect(isOwnInS3('s3://bucket/nightly.ledger2/leads.csv')).toBe(false);
  });

  it('include no other file, however similar its name', () => {
    const others = [
      '/data/in.csv',
      '/data/out.csv2',
      '/data/out.csv.2026',
      '/data/xout.csv',
      '/elsewhere/out.csv',
      '/data/out.csv.tmp',
      '/data/out.csv.0a1b2c3d',
      '/data/in.csv.0a1b2c3d.tmp',
      '/data/out.csv.ledger2',
      '/data/out.csv.reports',
      '/data/out.csv.shard-list.csv',
      '/data/out.csv.shard-0-of-4x',
    ];
    expect(others.filter((path) => isOwn(path))).toEqual([]);
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }).filter((name) => !name.startsWith('out.csv') && !name.startsWith('.millrace')),
        (name) => !isOwn(`/data/${name}`),
      ),
    );
  });
});
