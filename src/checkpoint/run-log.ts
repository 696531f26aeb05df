/** The runs of a job: its start, its resumes and its retries, each with its end. The report shows them. Pure. */

/** One process that worked on the job. */
export interface LoggedRun {
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  /** Null while it runs. For a killed run the time of its last checkpoint. */
  readonly endedAt: string | null;
  /** The command line, without secrets. */
  readonly command: string;
  /** The version of Millrace. */
  readonly version: string;
  /** Null while it runs. `killed`: it ended without a last checkpoint. */
  readonly end: 'finished' | 'stopped' | 'killed' | null;
  /** The error code of a run that stopped. */
  readonly code: string | null;
  /** The shard, such as `0/4`. Left out for a whole job. */
  readonly shard?: string;
}

/** The form in the checkpoint and the report. */
export interface RunLog {
  /** The number of runs, including those missing in `list`. */
  readonly count: number;
  /** The number of those that were killed. */
  readonly killed: number;
  /** The latest runs, in the order of their start. */
  readonly list: readonly LoggedRun[];
}

/** Earlier runs are counted but not listed, because the checkpoint is written every second. */
export const MOST_RUNS = 30;

export const NO_RUNS: RunLog = { count: 0, killed: 0, list: [] };

/** Adds a run that begins. @param seenAt when the run before was last seen, RFC 3339: its end if it was killed */
export function beginRun(log: RunLog, run: Omit<LoggedRun, 'endedAt' | 'end' | 'code'>, seenAt: string): RunLog {
  const before = endRun(log, { endedAt: seenAt, end: 'killed', code: null });
  const list = [...before.list, { ...run, endedAt: null, end: null, code: null }];
  return { ...before, count: before.count + 1, list: list.slice(-MOST_RUNS) };
}

/** Ends the run that was added last. A run that has ended stays as it is. */
export function endRun(log: RunLog, ended: Pick<LoggedRun, 'endedAt' | 'end' | 'code'>): RunLog {
  const last = log.list.at(-1);
  if (last === undefined || last.end !== null) return log;
  return { ...log, killed: log.killed + (ended.end === 'killed' ? 1 : 0), list: [...log.list.slice(0, -1), { ...last, ...ended }] };
}

/** Adds the runs of shards. */
export function addRunLogs(all: readonly RunLog[]): RunLog {
  const list = all.flatMap((log) => log.list).toSorted((one, other) => compare(one.startedAt, other.startedAt));
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    killed: all.reduce((sum, { killed }) => sum + killed, 0),
    list: list.slice(-MOST_RUNS),
  };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
