/** Kills a job again and again until it is finished, and says what that cost. Used by test/crash and bench/crash.ts. */
import { readFileSync, watch } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import type { Folder, Started } from './cli.ts';
import type { Exchanged, ScriptedService } from './scripted-service.ts';

/** When to kill. */
export type Moment =
  /** That long after the start, milliseconds: a random moment. */
  | { readonly kind: 'time'; readonly ms: number }
  /** When the service sees one more than that many requests. */
  | { readonly kind: 'requests'; readonly more: number }
  /** At the nth change of a file of that name: a checkpoint that is being written, a rename. Seen from outside, so a little later. */
  | { readonly kind: 'file'; readonly name: RegExp; readonly nth: number }
  /** Right before a file that holds the text takes its name: exactly there, see `kill-before.ts`. */
  | { readonly kind: 'rename'; readonly name: string; readonly holding: string };

/** What a kill left behind. */
export interface Site {
  /** As the checkpoint says; null without one. */
  readonly state: string | null;
  readonly files: readonly string[];
}

export interface Chain {
  readonly kills: number;
  readonly runs: number;
  readonly sites: readonly Site[];
  /** Lookups asked for again after a kill. */
  readonly repeated: number;
  /** In flight at the kills, or answered since the last durable ledger write began: as many may be asked for again. */
  readonly bound: number;
  /** Answered before the last durable ledger write began, and not in it: none may be. */
  readonly late: readonly string[];
  /** Lookups that were durable in the ledger, and asked for all the same: none may be. */
  readonly paidTwice: readonly string[];
}

/** Runs the command, killing it at each moment in turn, then lets it finish. Throws when a run ends in any other way. */
export async function killThrough(folder: Folder, service: ScriptedService, args: readonly string[], output: string, moments: readonly Moment[]): Promise<Chain> {
  const sites: Site[] = [];
  let runs = 0;
  let bound = 0;
  let durable: ReadonlySet<string> = new Set();
  let before = new Map<string, number>();
  const late: string[] = [];
  const paidTwice: string[] = [];
  for (const moment of [...moments, null]) {
    const since = service.exchanges.length;
    const checkpoints = new Checkpoints(folder, `${output}.checkpoint.json`);
    const started = folder.start(args, moment?.kind === 'rename' ? { env: killBefore(moment) } : {});
    const stopWatching = moment === null ? (): void => undefined : killAt(moment, folder, service, started);
    const { code, signal, stderr } = await started.ended;
    stopWatching();
    checkpoints.stop();
    runs++;
    for (const [name, times] of service.asked) if (times > (before.get(name) ?? 0) && durable.has(name)) paidTwice.push(name);
    if (signal !== 'SIGKILL' && code !== 0) throw new Error(`a run ended with ${code ?? signal}:\n${stderr}`);
    if (signal !== 'SIGKILL') break;
    const ledger = await readLedger(folder.at(`${output}.ledger`));
    const left = afterKill(service.exchanges.slice(since), ledger, checkpoints.beforeLast());
    sites.push({ state: checkpoints.state(), files: await folder.files() });
    bound += left.mayRepeat;
    late.push(...left.late);
    durable = ledger.names;
    before = new Map(service.asked);
  }
  return { kills: sites.length, runs, sites, repeated: service.repeated, bound, late, paidTwice };
}

/**
 * Holds one killed run against the contract: "repeats at most the requests in flight and those answered since the last
 * durable ledger write began". When it began the ledger itself says (`at`); and because a checkpoint is written only
 * after the ledger, one began after the last checkpoint but one, whatever the ledger says. So answers that are kept
 * too late are noticed without a clock, however slow the machine is.
 *
 * An answer counts from when the run is known to have read it: before, it may have lain in a socket and was in flight.
 */
function afterKill(exchanges: readonly Exchanged[], { names, lastWriteAt }: LedgerSite, checkpointAt: number): { mayRepeat: number; late: string[] } {
  const writeBegan = Math.max(lastWriteAt, checkpointAt);
  // Misses that come before any other answer wait for it: until then the service is not trusted.
  const trustedAt = Math.min(...exchanges.map(({ status, readBy }) => (status === 200 && readBy !== null ? readBy : Infinity)));
  let mayRepeat = 0;
  const late: string[] = [];
  for (const { asked, readBy } of exchanges) {
    const inTime = readBy !== null && Math.max(readBy, trustedAt) < writeBegan;
    if (inTime) late.push(...asked.keys.map((key) => `${asked.path} ${key}`).filter((name) => !names.has(name)));
    else mayRepeat += asked.keys.length;
  }
  return { mayRepeat, late };
}

/** Takes note of a job's checkpoints as they appear. */
class Checkpoints {
  readonly #path: string;
  readonly #watcher;
  /** When they were made, milliseconds; some may be missed. */
  readonly #seen: number[] = [];

  constructor(folder: Folder, name: string) {
    this.#path = folder.at(name);
    this.#watcher = watch(folder.path, (_event, changed) => {
      if (changed === name) this.#seen.push(this.#madeAt());
    });
  }

  /** When the last but one was made, as far as it was seen. */
  beforeLast(): number {
    const last = this.#madeAt();
    return Math.max(-Infinity, ...this.#seen.filter((at) => at < last));
  }

  state(): string | null {
    const { state } = this.#read();
    return typeof state === 'string' ? state : null;
  }

  stop(): void {
    this.#watcher.close();
  }

  #madeAt(): number {
    const { updatedAt } = this.#read();
    return typeof updatedAt === 'string' ? Date.parse(updatedAt) : -Infinity;
  }

  /** They are replaced whole, so what is there can be read at any time. */
  #read(): Record<string, unknown> {
    try {
      return JSON.parse(readFileSync(this.#path, 'utf8')) as Record<string, unknown>;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw error;
    }
  }
}

function killBefore({ name, holding }: Moment & { kind: 'rename' }): Record<string, string> {
  const hook = fileURLToPath(new URL('../crash/kill-before.ts', import.meta.url));
  return { NODE_OPTIONS: `--import=${hook}`, CRASH_BEFORE: name, CRASH_HOLDING: holding };
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
    case 'rename':
      return () => undefined;
    default:
      return moment satisfies never;
  }
}

/** What a kill left in the ledger. */
export interface LedgerSite {
  /** `enrich ana@works.example` */
  readonly names: ReadonlySet<string>;
  /** When the last write that is durable began, milliseconds; -Infinity when none is. */
  readonly lastWriteAt: number;
}

/** Looked at in a copy: the crash site stays as it is. */
export async function readLedger(ledger: string): Promise<LedgerSite> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-ledger-'));
  try {
    for (const suffix of ['', '-wal']) await copyFile(ledger + suffix, join(folder, `ledger${suffix}`)).catch(() => undefined);
    const db = new DatabaseSync(join(folder, 'ledger'));
    try {
      const there = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'answers'").get();
      const rows = Number(there?.['n']) === 0 ? [] : db.prepare('SELECT s.step AS step, a.key AS key, a.at AS at FROM answers a JOIN scopes s ON s.id = a.scope ORDER BY a.id').all();
      return { names: new Set(rows.map((row) => `${String(row['step'])} ${String(row['key'])}`)), lastWriteAt: Number(rows.at(-1)?.['at'] ?? -Infinity) };
    } finally {
      db.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

export async function durableLookups(ledger: string): Promise<ReadonlySet<string>> {
  return (await readLedger(ledger)).names;
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

/** The moments between the steps of finishing, in their order. The job has failed or invalid records, so that there is an errors file. */
export function finishingMoments(output: string): readonly { readonly name: string; readonly moment: Moment }[] {
  const before = (name: string, holding = ''): Moment => ({ kind: 'rename', name, holding });
  return [
    { name: 'after the last row, before the checkpoint says finishing', moment: before(`${output}.checkpoint.json`, '"state":"finishing"') },
    { name: 'before the output takes its name', moment: before(output) },
    { name: 'between the renames of output and errors file', moment: before(`${output}.errors.jsonl`) },
    { name: 'after both, before the report', moment: before(`${output}.report.json`) },
    { name: 'after the report, before the checkpoint says finished', moment: before(`${output}.checkpoint.json`, '"state":"finished"') },
  ];
}
