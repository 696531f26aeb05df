import { describe, expect, it } from 'vitest';
import { addRunLogs, beginRun, endRun, MOST_RUNS, NO_RUNS, type LoggedRun, type RunLog } from '../../src/checkpoint/run-log.ts';

const at = (second: number): string => new Date(second * 1_000).toISOString();
const begun = (second: number): Pick<LoggedRun, 'startedAt' | 'command' | 'version'> => ({
  startedAt: at(second),
  command: 'millrace run',
  version: '1.0.0',
});
const stopped = (second: number): Pick<LoggedRun, 'endedAt' | 'end' | 'code'> => ({
  endedAt: at(second),
  end: 'stopped',
  code: 'signalled',
});

describe('the log of runs', () => {
  it('has a run without an end while it runs, and its end afterwards', () => {
    const running = beginRun(NO_RUNS, begun(1), at(0));
    expect(running).toEqual({ count: 1, killed: 0, list: [{ ...begun(1), endedAt: null, end: null, code: null }] });
    expect(endRun(running, stopped(5)).list).toEqual([{ ...begun(1), ...stopped(5) }]);
  });

  it('counts a run that never ended as killed, at the time when it was last seen', () => {
    const log = beginRun(beginRun(NO_RUNS, begun(1), at(0)), begun(9), at(4));
    expect(log.killed).toBe(1);
    expect(log.list[0]).toMatchObject({ endedAt: at(4), end: 'killed', code: null });
    expect(log.list[1]).toMatchObject({ endedAt: null, end: null });
  });

  it('keeps the first end of a run', () => {
    const log = endRun(endRun(beginRun(NO_RUNS, begun(1), at(0)), stopped(2)), { endedAt: at(3), end: 'finished', code: null });
    expect(log.list[0]).toMatchObject(stopped(2));
    expect(endRun(NO_RUNS, stopped(1))).toBe(NO_RUNS);
  });

  it('counts all runs of a job that crashes for ever, and lists the latest', () => {
    let log: RunLog = NO_RUNS;
    for (let second = 0; second < 1_000; second++) log = beginRun(log, begun(second), at(second));
    expect(log).toMatchObject({ count: 1_000, killed: 999 });
    expect(log.list.map(({ startedAt }) => startedAt)).toEqual(Array.from({ length: MOST_RUNS }, (_, i) => at(1_000 - MOST_RUNS + i)));
  });

  it('adds the runs of shards in the order of their start', () => {
    const one = beginRun(beginRun(NO_RUNS, { ...begun(1), shard: '0/2' }, at(0)), { ...begun(7), shard: '0/2' }, at(3));
    const other = endRun(beginRun(NO_RUNS, { ...begun(2), shard: '1/2' }, at(0)), stopped(4));
    const all = addRunLogs([one, other]);
    expect(all).toMatchObject({ count: 3, killed: 1 });
    expect(all.list.map(({ startedAt, shard }) => [startedAt, shard])).toEqual([
      [at(1), '0/2'],
      [at(2), '1/2'],
      [at(7), '0/2'],
    ]);
  });
});
