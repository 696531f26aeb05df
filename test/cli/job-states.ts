/** Worlds whose job has finished, or was stopped. */
import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld, type World } from '../support/world.ts';

export const ROWS = leads(260, 5);
export const LENIENT = { 'max-errors': '100%' };

/** A world whose job has finished; the service has forgotten what it was asked. */
export async function finished(more: Record<string, string> = {}): Promise<World & { readonly before: Buffer }> {
  const world = await makeWorld(toCsv(ROWS));
  expect(await world.folder.run(world.args({ ...LENIENT, ...more }))).toMatchObject({ code: 0 });
  world.service.forget();
  return { ...world, before: await readFile(world.folder.at(more['output'] ?? 'out.csv')) };
}

/** A world whose job was stopped by SIGTERM after about 100 requests; the service has forgotten what it was asked. */
export async function stopped(more: Record<string, string> = {}): Promise<World> {
  const world = await makeWorld(toCsv(ROWS));
  world.service.latencyMs = 5;
  const first = world.folder.start(world.args({ ...LENIENT, ...more }));
  await world.service.sees(100);
  first.kill('SIGTERM');
  expect((await first.ended).code).toBe(75);
  world.service.forget();
  return world;
}

/** Output and errors of a run that nothing interrupts, made once a file. */
let completed: Promise<{ readonly output: Buffer; readonly errors: string }> | null = null;
export function uninterrupted(): NonNullable<typeof completed> {
  completed ??= finished().then(async ({ folder, before }) => ({ output: before, errors: await errorsOf(folder) }));
  return completed;
}

export async function errorsOf(folder: Folder): Promise<string> {
  return (await folder.read('out.csv.errors.jsonl')).replaceAll(/"req-\d+"/g, '""');
}

/** Every file of the folder except the ledger, by name. */
export async function filesOf(folder: Folder): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const name of await folder.files()) if (!name.includes('.ledger')) texts[name] = await folder.read(name);
  return texts;
}
