/** A folder and a scripted service for one test, removed after it. No file and no output may contain the API key. */
import { writeFile } from 'node:fs/promises';
import { expect, onTestFinished } from 'vitest';
import { Folder } from './cli.ts';
import { ScriptedService } from './scripted-service.ts';

export async function makeFolder(): Promise<Folder> {
  const folder = await Folder.make();
  onTestFinished(async () => {
    try {
      await folder.end();
      expect(await folder.secrets()).toEqual([]);
    } finally {
      await folder.remove();
    }
  });
  return folder;
}

export async function startService(): Promise<ScriptedService> {
  const service = await ScriptedService.start();
  onTestFinished(() => service.stop());
  return service;
}

export interface World {
  readonly folder: Folder;
  readonly service: ScriptedService;
  /** The usual arguments of `run`: from `in.csv` to `out.csv`, without a quota, checkpoints every 50 ms. */
  args: (more?: Readonly<Record<string, string | boolean>>) => string[];
}

const USUAL = { input: 'in.csv', output: 'out.csv', plan: 'enterprise', progress: 'none', 'checkpoint.everyMs': '50' };

export async function makeWorld(input: string | Buffer | null = null): Promise<World> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  if (input !== null) await writeFile(folder.at('in.csv'), input);
  return { folder, service, args: (more = {}) => ['run', ...flags({ ...USUAL, 'base-url': service.url, ...more })] };
}

/** `{limit: '5', fresh: true}` as `--limit 5 --fresh`. False leaves a flag out. */
export function flags(values: Readonly<Record<string, string | boolean>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => (value === false ? [] : value === true ? [`--${name}`] : [`--${name}`, value]));
}
