/** Jobs to retry. */
import { expect } from 'vitest';
import type { Folder } from '../support/cli.ts';
import { oneIn, refusing } from '../support/failing.ts';
import { leads, toCsv } from '../support/leads.ts';
import { flags, makeWorld, type World } from '../support/world.ts';

export const ROWS = leads(120, 71);
export const LINE = { input: 'in.csv', output: 'out.csv', plan: 'enterprise', 'checkpoint.everyMs': '50' } as const;

/** A world whose job has finished although some lookups failed; the service works now, and has forgotten what it was asked. */
export async function finishedWithFailures(
  more: Readonly<Record<string, string | boolean>> = {},
  script = refusing((key, path) => oneIn(4)(`${path} ${key}`)),
): Promise<World & { line: (command: string, change?: Readonly<Record<string, string | boolean>>) => string[] }> {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service } = world;
  service.script = script;
  const line = (command: string, change: Readonly<Record<string, string | boolean>> = {}): string[] => [
    command,
    ...flags({
      ...LINE,
      'base-url': service.url,
      ...(command === 'status' || command === 'plan' ? {} : { progress: 'none' }),
      ...more,
      ...change,
    }),
  ];
  expect(await folder.run(line('run'))).toMatchObject({ code: 1 });
  service.script = (_asked, _response, reply, usual) => reply(usual());
  service.forget();
  return { ...world, line };
}

/** Every file of the folder except the ledger, by name. */
export async function contents(folder: Folder): Promise<Map<string, string>> {
  const names = (await folder.files()).filter((name) => !/\.ledger/.test(name));
  return new Map(await Promise.all(names.map(async (name) => [name, await folder.read(name)] as const)));
}

/** The lookups that failed, by the errors file: `enrich ana@works.example` */
export async function failures(folder: Folder, output: string): Promise<Set<string>> {
  const lines = (await folder.read(`${output}.errors.jsonl`))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { step: string | null; key: string });
  return new Set(lines.flatMap(({ step, key }) => (step === null ? [] : `${step} ${key}`)));
}
