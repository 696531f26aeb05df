/** Kills a job again and again until it is finished, and says what that cost. Used by test/crash and bench/crash.ts. */
import { watch } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Folder, Started } from './cli.ts';
import type { ScriptedService } from './scripted-service.ts';

/** When to kill. */
export type Moment =
  /** That long after the start, milliseconds: a random moment. */
  | { readonly kind: 'time'; readonly ms: number }
  /** When the service sees one more than that many requests. */
  | { readonly kind: 'requests'; readonly more: number }
  /** At the nth change of a file of that name: a checkpoint that is being written, a rename. */
  | { readonly kind: 'file'; readonly name: RegExp; readonly nth: number };

export interface Chain {
  readonly kills: number;
  readonly runs: number;
  /** Lookups asked for again after a kill. */
  readonly repeated: number;
  /** In flight at the kills, or answered and not yet durable in the ledger: as many may be asked for again. */
  readonly bound: number;
  /** Lookups that were durable in the ledger, and asked for all the same: none may be. */
  readonly paidTwice: readonly string[];
}

/** Runs the command, killing it at each moment in turn, then lets it finish. Throws when a run ends in any other way. */
export async function killThrough(folder: Folder, service: ScriptedService, args: readonly string[], ledger: string, moments: readonly Moment[]): Promise<Chain> {
  let kills = 0;
  let runs = 0;
  let bound = 0;
  let durable = new Set<string>();
  let before = new Map<string, number>();
  const paidTwice: string[] = [];
  const askedAgain = (): void => {
    for (const [name, times] of service.asked) if (times > (before.get(name) ?? 0) && durable.has(name)) paidTwice.push(name);
  };
  for (const moment of [...moments, null]) {
    const started = folder.start(args);
    const stopWatching = moment === null ? (): void => undefined : killAt(moment, folder, service, started);
    const { code, signal, stderr } = await started.ended;
    stopWatching();
    runs++;
    askedAgain();
    if (signal !== 'SIGKILL' && code !== 0) throw new Error(`a run ended with ${code ?? signal}:\n${stderr}`);
    if (signal !== 'SIGKILL') break;
    kills++;
    durable = await durableLookups(ledger);
    before = new Map(service.asked);
    bound += [...before.keys()].filter((name) => !durable.has(name)).length;
  }
  return { kills, runs, repeated: service.repeated, bound, paidTwice };
}

function killAt(moment: Moment, folder: Folder, service: ScriptedService, started: Started): () => void {
  const kill = (): void => started.kill('SIGKILL');
  switch (moment.kind) {
    case 'time': {
      const timer = setTimeout(kill, moment.ms);
      return () => clearTimeout(timer);
    }
    case 'requests':
      void service.sees(moment.more + 1).then(kill);
      return () => undefined;
    case 'file': {
      let left = moment.nth;
      const watcher = watch(folder.path, (_event, name) => {
        if (name !== null && moment.name.test(name) && --left === 0) kill();
      });
      return () => watcher.close();
    }
    default:
      return moment satisfies never;
  }
}

/** What a kill left in the ledger, as `enrich ana@works.example`. Looked at in a copy: the crash site stays as it is. */
export async function durableLookups(ledger: string): Promise<Set<string>> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-ledger-'));
  try {
    for (const suffix of ['', '-wal']) await copyFile(ledger + suffix, join(folder, `ledger${suffix}`)).catch(() => undefined);
    const db = new DatabaseSync(join(folder, 'ledger'));
    try {
      const there = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'answers'").get();
      if (Number(there?.['n']) === 0) return new Set();
      return new Set(db.prepare('SELECT s.step AS step, a.key AS key FROM answers a JOIN scopes s ON s.id = a.scope').all().map((row) => `${String(row['step'])} ${String(row['key'])}`));
    } finally {
      db.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** As many moments, spread over everything that a run does. `lookups`: how many the whole job needs. */
export function randomMoments(count: number, lookups: number, random: () => number): Moment[] {
  return Array.from({ length: count }, (_, i): Moment => {
    switch (i % 4) {
      case 0:
        return { kind: 'requests', more: Math.floor(random() * (lookups / count) * 2) };
      case 1:
        return { kind: 'file', name: /checkpoint\.json\.tmp$/, nth: 1 + Math.floor(random() * 12) };
      case 2:
        return { kind: 'time', ms: Math.floor(random() * 600) };
      default:
        return { kind: 'requests', more: Math.floor(random() * (lookups / count) * 2) };
    }
  });
}

/** The steps of finishing, each of which may be the last: every name that changes after the last row. */
export const FINISHING: readonly Moment[] = [/\.report\.json\.tmp$/, /\.report\.json$/, /\.errors\.jsonl$/, /^out\.[a-z.]+$/].map((name) => ({ kind: 'file', name, nth: 1 }));
