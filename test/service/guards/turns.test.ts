import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { Turns } from '../../../src/service/guards/turns.ts';
import { andThen, counted, type Steps } from '../../../src/util/steps.ts';
import { toEnd } from '../../support/steps.ts';

/** A thread with a clock that only work moves, and an event loop that runs turn by turn. */
class Loop {
  nowMs = 0;
  turns = 0;
  #next: (() => void)[] = [];
  readonly turnsOf = new Turns(
    () => this.nowMs,
    (run) => this.#next.push(run),
  );

  /** Work of steps that take `stepMs` each. Tells `log` of each step, with the turn in which it ran. */
  *work(name: string, steps: number, stepMs: number, log: string[] = []): Steps<string> {
    for (let step = 0; step < steps; step++) {
      this.nowMs += stepMs;
      log.push(`${this.turns}:${name}`);
      yield 1;
    }
    return name;
  }

  /** Runs the next turn, in which others work for `otherMs` first. Returns false when nothing waits for it. */
  async turn(otherMs = 0): Promise<boolean> {
    await Promise.resolve();
    const run = this.#next;
    this.#next = [];
    this.turns++;
    this.nowMs += otherMs;
    for (const one of run) one();
    await Promise.resolve();
    return run.length > 0;
  }

  async toEnd(otherMs = 0): Promise<void> {
    while (await this.turn(otherMs));
  }
}

describe('turns', () => {
  it('does short work at once, without a promise', () => {
    const loop = new Loop();
    expect(loop.turnsOf.run('key', loop.work('short', 3, 1))).toBe('short');
    expect(loop.turns).toBe(0);
  });

  it('spreads long work over turns of five milliseconds', async () => {
    const loop = new Loop();
    const log: string[] = [];
    const result = loop.turnsOf.run('key', loop.work('long', 23, 1, log));
    expect(result).toBeInstanceOf(Promise);
    await loop.toEnd();
    expect(await result).toBe('long');
    const perTurn = new Map<string, number>();
    for (const line of log) perTurn.set(line, (perTurn.get(line) ?? 0) + 1);
    expect([...perTurn.values()]).toEqual([5, 5, 5, 5, 3]);
  });

  it('leaves the others more than half of the time, however long or short their turns are', () => {
    return fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 80 }), fc.integer({ min: 1, max: 6 }), async (tenths, keys) => {
        const loop = new Loop();
        const log: string[] = [];
        const otherMs = tenths / 10;
        loop.nowMs += otherMs;
        for (let key = 0; key < keys; key++) void loop.turnsOf.run(`key ${key}`, loop.work('step', 10_000, 0.05, log));
        await loop.turn(otherMs);
        const startMs = loop.nowMs;
        for (let turn = 0; turn < 40; turn++) await loop.turn(otherMs);
        // A turn of others of less than 0.4 ms gets the least time for steps, and each turn may overrun by one step.
        const mostMs = Math.max(0.6 * otherMs, 0.25) + 0.05;
        expect((loop.nowMs - startMs) / 40).toBeLessThanOrEqual(otherMs + mostMs + 1e-6);
      }),
      { numRuns: 60 },
    );
  });

  it('serves the keys in turn, so that a short task waits for one turn of a long one', async () => {
    const loop = new Loop();
    const log: string[] = [];
    const long = [1, 2, 3].map(async (n) => loop.turnsOf.run('busy', loop.work(`long ${n}`, 100, 1, log)));
    await loop.turn();
    const turn = loop.turns;
    const short = loop.turnsOf.run('other', loop.work('short', 1, 1, log));
    await loop.turn();
    await loop.turn();
    expect(await short).toBe('short');
    expect(log.find((line) => line.endsWith('short'))).toBe(`${turn + 2}:short`);
    await loop.toEnd();
    expect(await Promise.all(long)).toEqual(['long 1', 'long 2', 'long 3']);
    // Tasks of one key run one after another.
    const order = log.filter((line) => line.includes('long')).map((line) => line.slice(-1));
    expect(order.join('')).toBe([...order].sort().join(''));
  });

  it('lets a task wait for a promise, and serves the other keys meanwhile', async () => {
    const loop = new Loop();
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    function* waiting(): Steps<string> {
      yield gate;
      return yield* loop.work('waited', 2, 1);
    }
    const waits = loop.turnsOf.run('one', waiting());
    const behind = loop.turnsOf.run('one', loop.work('behind', 1, 1));
    expect(loop.turnsOf.run('two', loop.work('other', 2, 1))).toBe('other');
    await loop.toEnd();
    open();
    await Promise.resolve();
    await loop.toEnd();
    expect([await waits, await behind]).toEqual(['waited', 'behind']);
  });

  it('gives an error to the one who asked for the work, and goes on with the others', async () => {
    const loop = new Loop();
    const failing = function* (steps: number): Steps<never> {
      yield* loop.work('failing', steps, 1);
      throw new Error('broken');
    };
    expect(() => loop.turnsOf.run('key', failing(1))).toThrow('broken');
    const later = Promise.resolve(loop.turnsOf.run('key', failing(20)));
    const after = loop.turnsOf.run('key', loop.work('after', 1, 1));
    const caught = later.catch((error: unknown) => error);
    await loop.toEnd();
    expect(String(await caught)).toContain('broken');
    expect(await after).toBe('after');
  });
});

describe('steps', () => {
  it('steps are counted by the work that they tell of', () => {
    const steps = function* (): Steps<string> {
      yield 2;
      yield 0;
      yield 5;
      return 'done';
    };
    let pauses = 0;
    expect(toEnd(counted(steps()), () => pauses++)).toEqual({ result: 'done', units: 7 });
    expect(pauses).toBe(3);
  });

  it('steps have a result now or later', async () => {
    expect(andThen(2, (value) => value + 1)).toBe(3);
    expect(await andThen(Promise.resolve(2), (value) => value + 1)).toBe(3);
  });
});
