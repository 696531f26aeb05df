import { describe, expect, it } from 'vitest';
import { RunState, type RunPhase } from '../../../src/job/run/run-state.ts';

function make(): { drain: AbortController; abort: AbortController; state: RunState } {
  const [drain, abort] = [new AbortController(), new AbortController()];
  return { drain, abort, state: new RunState({ drain: drain.signal, abort: abort.signal }) };
}

describe('the state of a run', () => {
  it('keeps the first reason to stop, whether a signal or a failure', () => {
    const { drain, abort, state } = make();
    drain.abort('SIGTERM');
    state.stopFor(new Error('the disk is full'));
    abort.abort('a second signal');
    expect([state.isStopping, state.reason, state.stopping.reason]).toEqual([true, 'SIGTERM', 'SIGTERM']);
  });

  it('stops for a signal that came before the run', () => {
    const state = new RunState({ drain: AbortSignal.abort('SIGINT'), abort: new AbortController().signal });
    expect(state.reason).toBe('SIGINT');
  });

  it('accepts a reason while it drains, and none once it is finishing', () => {
    const draining = make();
    for (const phase of ['running', 'draining'] as const) draining.state.enter(phase);
    draining.drain.abort('SIGTERM');
    expect(draining.state.isStopping).toBe(true);

    const finishing = make();
    for (const phase of ['running', 'draining', 'finishing'] as const) finishing.state.enter(phase);
    finishing.drain.abort('SIGTERM');
    expect(finishing.state.isStopping).toBe(false);
  });

  it('ignores signals after it is closed', () => {
    const { drain, state } = make();
    state.close();
    drain.abort('SIGTERM');
    expect(state.isStopping).toBe(false);
  });

  it.each<[RunPhase[], RunPhase]>([
    [[], 'draining'],
    [['running'], 'finishing'],
    [['running', 'draining', 'finishing', 'finished'], 'stopped'],
    [['stopped'], 'running'],
  ])('after %j never becomes %s', (before, next) => {
    const { state } = make();
    for (const phase of before) state.enter(phase);
    expect(() => state.enter(next)).toThrow(`to ${next}`);
  });
});
