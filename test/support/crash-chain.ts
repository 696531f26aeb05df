/** Kills a job again and again until it finishes, and reports the cost. Used by test/crash and bench/crash.ts. */
import { watch } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SEMI_SPACES, type Ended, type Folder, type Started } from './cli.ts';
import { afterKill, Checkpoints, isFault, lastWords, readLedger } from './crash-site.ts';
import type { Exchanged, ScriptedService } from './scripted-service.ts';

/** The moment at which a run gets its signals. */
export type Moment =
  /** Milliseconds after the start: a random moment. */
  (
    | { readonly kind: 'time'; readonly ms: number }
    /** When the service has seen more than that many further requests. */
    | { readonly kind: 'requests'; readonly more: number }
    /**
     * At the nth change of a file with such a name: a checkpoint write, a rename. It is observed from outside, so the signal comes a little
     * later.
     */
    | { readonly kind: 'file'; readonly name: RegExp; readonly nth: number }
    /** Exactly before a step that changes the disk, see `at-step.ts`. Always a SIGKILL. */
    | ({ readonly kind: 'step' } & Step)
  ) & {
    /** Default: SIGKILL. Several signals follow one another after `betweenMs`. */
    readonly signals?: readonly NodeJS.Signals[];
    readonly betweenMs?: number;
  };

/** The nth of the steps that match all given fields. */
export interface Step {
  readonly call?: string;
  /** A regular expression for the file's base name, in which `*` stands for random parts. */
  readonly file?: string;
  /** A text in the file. */
  readonly holding?: string;
  readonly nth: number;
}

/** The files that a kill left behind. */
export interface Site {
  /** From the checkpoint; null without one. */
  readonly state: string | null;
  readonly files: readonly string[];
}

export interface Chain {
  /** Runs ended by SIGKILL. */
  readonly kills: number;
  /** Runs that ended with 75. */
  readonly stops: number;
  readonly runs: number;
  readonly sites: readonly Site[];
  /** Lookups that a later run asked for again. */
  readonly repeated: number;
  /** The permitted number of repeats: in flight at the kills, or answered since the last durable ledger write began. */
  readonly bound: number;
  /** Answered before the last durable ledger write began, but missing in it. Must be empty. */
  readonly late: readonly string[];
  /** Durable in the ledger or settled in the same run, but asked for again. Must be empty. */
  readonly paidTwice: readonly string[];
}

export interface ChainOptions {
  /** Answers of the ledger up to this number belong to an earlier run and may be asked for again. */
  readonly answersBefore?: number;
  readonly onKill?: () => Promise<void>;
}

/** Runs the command, ends it at each moment in turn, then lets it finish. @throws when a run ends in any other way */
export async function killThrough(
  folder: Folder,
  service: ScriptedService,
  args: readonly string[],
  output: string,
  moments: Iterable<Moment>,
  { answersBefore = 0, onKill }: ChainOptions = {},
): Promise<Chain> {
  const sites: Site[] = [];
  const late: string[] = [];
  const paidTwice: string[] = [];
  const sum = { kills: 0, stops: 0, runs: 0, repeated: 0, bound: 0 };
  let durable: ReadonlySet<string> = new Set();
  const before = new Map<string, Exchanged>();
  for (const moment of endlessly(moments)) {
    const since = service.exchanges.length;
    const checkpoints = new Checkpoints(folder, `${output}.checkpoint.json`);
    const started = folder.start(args, { env: environmentOf(moment) });
    const stopWatching = moment === null ? (): void => undefined : endAt(moment, folder, service, started);
    const ended = await started.ended;
    stopWatching();
    checkpoints.stop();
    sum.runs++;
    const { last, again } = lastWords(service.exchanges.slice(since));
    paidTwice.push(...again, ...[...last.keys()].filter((name) => durable.has(name)));
    sum.repeated += [...last.keys()].filter((name) => isAskedAgain(before.get(name))).length;
    if (ended.code === 0) break;
    await onKill?.();
    const ledger = await readLedger(folder.at(`${output}.ledger`), answersBefore);
    const left = leftBy(ended, moment, last, ledger, checkpoints.beforeLast());
    sum[ended.signal === 'SIGKILL' ? 'kills' : 'stops']++;
    sites.push({ state: checkpoints.state(), files: await folder.files() });
    sum.bound += left.mayRepeat.length;
    late.push(...left.late);
    durable = ledger.names;
    for (const [name, exchanged] of last) before.set(name, exchanged);
  }
  return { ...sum, sites, late, paidTwice };
}

/** A random moment may also hit the restart for a smaller heap. */
function environmentOf(moment: Moment | null): Record<string, string> {
  if (moment?.kind === 'step') return atStep(moment);
  return moment?.kind === 'time' ? { NODE_OPTIONS: '' } : {};
}

function* endlessly(moments: Iterable<Moment>): Generator<Moment | null> {
  yield* moments;
  yield null;
}

/** True for a lookup that an earlier run had sent, unless the service requested the repeat. */
function isAskedAgain(before: Exchanged | undefined): boolean {
  return before !== undefined && !isFault(before);
}

/** Lookups that an ended run may leave to be repeated. After a single signal: none that was answered. */
function leftBy(
  ended: Ended,
  moment: Moment | null,
  last: ReadonlyMap<string, Exchanged>,
  ledger: Parameters<typeof afterKill>[1],
  checkpointAt: number,
): ReturnType<typeof afterKill> {
  if (ended.signal === 'SIGKILL') return afterKill(last, ledger, checkpointAt);
  const stopped = ended.code === 75 && ended.stderr.startsWith('millrace: stopped by ');
  // Before the run listens for a signal and after it stops to, a signal ends the process as any other.
  const unheard = ended.signal !== null && moment?.signals?.includes(ended.signal) === true;
  if (!stopped && !unheard) throw new Error(`a run ended with ${ended.code ?? ended.signal}:\n${ended.stderr}`);
  const unanswered = [...last].filter(([, exchanged]) => exchanged.status === null && !exchanged.broken).map(([name]) => name);
  const lost = [...last].filter(([name, exchanged]) => !isFault(exchanged) && !ledger.names.has(name)).map(([name]) => name);
  return (moment?.signals?.length ?? 0) > 1 ? { mayRepeat: lost, late: [] } : { mayRepeat: [], late: [...unanswered, ...lost] };
}

const HOOK = new URL('at-step.ts', import.meta.url);

/** The environment in which a run gets the signal right before that step, and logs all its steps. */
export function atStep(
  { call = '', file = '', holding = '', nth }: Step,
  signal: NodeJS.Signals = 'SIGKILL',
  log = '',
): Record<string, string> {
  return {
    NODE_OPTIONS: `${SEMI_SPACES} --import=${fileURLToPath(HOOK)}`,
    STEP_CALL: call,
    STEP_FILE: file,
    STEP_HOLDING: holding,
    STEP_NTH: String(nth),
    STEP_SIGNAL: signal,
    STEP_LOG: log,
  };
}

function endAt(moment: Moment, folder: Folder, service: ScriptedService, started: Started): () => void {
  const end = async (): Promise<void> => {
    for (const [i, signal] of (moment.signals ?? ['SIGKILL']).entries()) {
      if (i > 0) await pause(moment.betweenMs ?? 0);
      started.kill(signal);
    }
  };
  switch (moment.kind) {
    case 'time': {
      const timer = setTimeout(() => void end(), moment.ms);
      return () => clearTimeout(timer);
    }
    case 'requests':
      void service.sees(moment.more + 1).then(end);
      return () => undefined;
    case 'file': {
      let left = moment.nth;
      const watcher = watch(folder.path, (_event, name) => {
        if (name !== null && moment.name.test(name) && --left === 0) void end();
      });
      return () => watcher.close();
    }
    case 'step':
      return () => undefined;
    default:
      return moment satisfies never;
  }
}

/** `count` moments, spread over a whole run. `lookups`: the number that the whole job needs. */
export function randomMoments(count: number, lookups: number, random: () => number): Moment[] {
  return Array.from({ length: count }, (_, i): Moment => {
    switch (i % 4) {
      case 0:
        return { kind: 'requests', more: Math.floor(random() * (lookups / count) * 2) };
      case 1:
        return { kind: 'file', name: /checkpoint\.json\.[0-9a-f]+\.tmp$/, nth: 1 + Math.floor(random() * 12) };
      case 2:
        return { kind: 'time', ms: Math.floor(random() * 600) };
      default:
        return { kind: 'step', nth: 1 + Math.floor(random() * 120) };
    }
  });
}

/** Moments that lie `stride` further for each run. The caller ends when a run finishes before its moment. */
export function* stepByStep(first: number, stride: number): Generator<Moment> {
  for (let nth = first; ; nth += stride) yield { kind: 'step', nth };
}

/** The moments between the steps of finishing, in order. The job has failed or invalid records, so it has an errors file. */
export function finishingMoments(output: string): readonly { readonly name: string; readonly moment: Moment }[] {
  const before = (name: string, holding = ''): Moment => ({
    kind: 'step',
    call: 'rename',
    file: `^${name.replaceAll('.', '\\.')}$`,
    holding,
    nth: 1,
  });
  return [
    {
      name: 'after the last row, before the checkpoint says finishing',
      moment: before(`${output}.checkpoint.json`, '"state":"finishing"'),
    },
    { name: 'before the output takes its name', moment: before(output) },
    { name: 'between the renames of output and errors file', moment: before(`${output}.errors.jsonl`) },
    { name: 'after output and errors file, before the report', moment: before(`${output}.report.json`) },
    { name: 'between the report and its page', moment: before(`${output}.report.html`) },
    {
      name: 'after report and page, before the checkpoint says finished',
      moment: before(`${output}.checkpoint.json`, '"state":"finished"'),
    },
  ];
}
