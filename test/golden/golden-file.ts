/** Compares with a golden file. `GOLDEN=record npx vitest run test/golden` writes those that are missing, and never one that is there. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';

export const GOLDEN = join(import.meta.dirname, '../../fixtures/golden');

/** Whether a file or folder below fixtures/golden is to be recorded. */
export function isToRecord(name: string): boolean {
  return process.env['GOLDEN'] === 'record' && !existsSync(join(GOLDEN, name));
}

/** @param name below fixtures/golden */
export async function expectGolden(name: string, actual: string): Promise<void> {
  if (isToRecord(name)) await writeGolden(name, actual);
  expect(actual).toBe(await readFile(join(GOLDEN, name), 'utf8'));
}

export async function expectGoldenBytes(name: string, actual: Buffer): Promise<void> {
  if (isToRecord(name)) await writeGolden(name, actual);
  expect(actual.toString('base64')).toBe((await readFile(join(GOLDEN, name))).toString('base64'));
}

export async function writeGolden(name: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(join(GOLDEN, name)), { recursive: true });
  await writeFile(join(GOLDEN, name), content);
}
