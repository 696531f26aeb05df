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

/**
 * The same of the requests of a new job, whose generation is the clock: the Idempotency-Keys differ from run to run, but not which requests
 * share one. @returns the golden file
 */
export async function expectGoldenRequests(name: string, actual: string): Promise<string> {
  if (isToRecord(name)) await writeGolden(name, actual);
  const golden = await readFile(join(GOLDEN, name), 'utf8');
  expect(withNamedKeys(actual)).toEqual(withNamedKeys(golden));
  return golden;
}

interface SentRequest {
  readonly call: string;
  readonly idempotencyKey: string | null;
  readonly body: string;
}

export function requestsIn(transcript: string): readonly SentRequest[] {
  return transcript
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as SentRequest);
}

/** Each request with the bodies that have its key, sorted. Two steps with one body had one key in earlier versions. */
function withNamedKeys(transcript: string): string[] {
  const sent = requestsIn(transcript);
  const uses = Map.groupBy(sent, ({ idempotencyKey }) => idempotencyKey);
  return sent
    .map(({ call, idempotencyKey, body }) => {
      const same = (uses.get(idempotencyKey) ?? []).flatMap((other) => (other.call === call ? [other.body] : [])).toSorted();
      return `${call} ${body} ${idempotencyKey === null ? 'without a key' : `with the key of ${JSON.stringify(same)}`}`;
    })
    .toSorted();
}

export async function expectGoldenBytes(name: string, actual: Buffer): Promise<void> {
  if (isToRecord(name)) await writeGolden(name, actual);
  expect(actual.toString('base64')).toBe((await readFile(join(GOLDEN, name))).toString('base64'));
}

export async function writeGolden(name: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(join(GOLDEN, name)), { recursive: true });
  await writeFile(join(GOLDEN, name), content);
}
