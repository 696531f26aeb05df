/** Inputs in which every record is found, so that any failure comes from the fault. */
import { expect } from 'vitest';
import type { Folder } from '../support/cli.ts';
import type { ScriptedService } from '../support/scripted-service.ts';

export const emailOf = (i: number): string => `person${i}@works.example`;

export function people(count: number): string {
  return `id,email\n${Array.from({ length: count }, (_, i) => `${i},${emailOf(i)}`).join('\n')}\n`;
}

/** Checks that each record is found, once and in order, except the named ones. */
export async function expectAllFound(folder: Folder, count: number, except: ReadonlySet<number> = new Set()): Promise<void> {
  // A title contains a line break. A row's first line begins with its number.
  const rows = (await folder.read('out.csv'))
    .split('\n')
    .filter((line) => /^\d+,/.test(line))
    .map((line) => line.split(','));
  expect(rows.map(([id]) => Number(id))).toEqual(Array.from({ length: count }, (_, i) => i));
  expect(rows.filter(([, , outcome]) => outcome !== 'matched').map(([id]) => Number(id))).toEqual([...except]);
  const { records } = (await folder.json('out.csv.report.json')) as { records: Record<string, number> };
  expect(records).toEqual({ total: count, matched: count - except.size, no_match: 0, invalid: 0, suppressed: 0, failed: except.size });
}

/** Checks that every body has one Idempotency-Key, however often it was sent, and shares it with no other body. */
export function expectOneKeyPerBody(service: ScriptedService): void {
  const keys = new Map<string, Set<string>>();
  for (const { path, body, idempotencyKey } of service.requests) {
    expect(idempotencyKey).toMatch(/^[\w-]{20,}$/);
    const of = keys.get(`${path} ${body}`) ?? new Set();
    keys.set(`${path} ${body}`, of.add(idempotencyKey as string));
  }
  const all = [...keys.values()].flatMap((of) => [...of]);
  expect(all).toHaveLength(keys.size);
  expect(new Set(all).size).toBe(keys.size);
}

/** The JSON lines of standard error. */
export function logOf(stderr: string): Record<string, unknown>[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
