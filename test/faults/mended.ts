/** A job that a system fault stops, and that the same command finishes after the cause is gone. */
import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { Ended, Folder, RunOptions } from '../support/cli.ts';
import { durableLookups } from '../support/crash-site.ts';
import { makeWorld, type World } from '../support/world.ts';

/** The parts of a finished job that no fault may change. */
export interface Result {
  readonly bytes: Buffer;
  readonly records: unknown;
  readonly output: unknown;
  readonly lookups: unknown;
  readonly errors: readonly unknown[];
}

export async function resultOf(folder: Folder, output = 'out.csv'): Promise<Result> {
  const {
    records,
    output: file,
    lookups,
  } = (await folder.json(`${output}.report.json`)) as { records: unknown; output: object; lookups: unknown };
  const errors = (await folder.read(`${output}.errors.jsonl`).catch(() => '')).split('\n').filter((line) => line !== '');
  return {
    bytes: await readFile(folder.at(output)),
    records,
    output: { ...file, uri: null },
    lookups,
    errors: errors.map((line) => ({ ...(JSON.parse(line) as object), requestId: null })),
  };
}

/** The result of an undisturbed run, computed once for the first test that asks. */
export function undisturbed(input: string | Buffer, more: Readonly<Record<string, string>>): () => Promise<Result> {
  let result: Promise<Result> | null = null;
  const run = async (): Promise<Result> => {
    const { folder, args } = await makeWorld(input);
    expect(await folder.run(args(more))).toMatchObject({ code: 0, stderr: '' });
    return resultOf(folder, more['output']);
  };
  return () => (result ??= run());
}

/** Checks an error message: one line that names `what`, one with a remedy, no stack and no bug report. */
export function expectWords({ stderr }: Ended, what: RegExp): void {
  expect(stderr).toMatch(/^millrace: [^\n]+\n  [^\n]+\n$/);
  expect(stderr).toMatch(what);
  expect(stderr).not.toMatch(/this is a bug|\n\s+at /);
}

export interface Mending {
  readonly args: readonly string[];
  readonly output?: string;
  readonly ledger?: string;
  readonly options?: RunOptions;
}

/** Runs the same command again. It finishes with this result, leaves no extra file, and asks for nothing that the ledger has. */
export async function expectMended(
  { folder, service }: World,
  expected: Result,
  { args, output = 'out.csv', ledger = `${output}.ledger`, options }: Mending,
): Promise<void> {
  const durable = await durableLookups(folder.at(ledger));
  const before = new Map(service.asked);
  const again = await folder.run(args, options);
  // Answers that did not reach the disk are asked for again, which the run says. So it does of a clock behind the ledger.
  const KNOWN = /^warning: the (?:ledger .* has (?:\d+|none) of the \d+ lookups of this job: |clock says ).*\n/gm;
  const other = again.stderr.replaceAll(KNOWN, '');
  expect([again.code, other]).toEqual([0, '']);
  const askedAgain = [...service.asked].filter(([name, times]) => times > (before.get(name) ?? 0)).map(([name]) => name);
  expect(askedAgain.filter((name) => durable.has(name))).toEqual([]);
  expect(await resultOf(folder, output)).toEqual(expected);
  expect((await folder.files()).filter((name) => /\.partial|\.lock|\.tmp$|\.stale$|\.removal$/.test(name))).toEqual([]);
}
