/** Work that may be paused between its steps, so that one thread can share it out. Pure. */

/**
 * Work in steps. Each number is the work since the last one, in units of about ten microseconds; there it may be paused. At a promise it
 * waits until that resolves; such a promise must not reject.
 */
export type Steps<T> = Generator<number | Promise<unknown>, T, void>;

/** Takes steps, now or over several turns of the event loop. @throws errors of the steps */
export type RunSteps = <T>(steps: Steps<T>) => T | Promise<T>;

/** Calls `use` with a value, now or when its promise resolves. */
export function andThen<T, Result>(value: T | Promise<T>, use: (value: T) => Result): Result | Promise<Result> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Counts the work of steps: their result, with the sum of their numbers. */
export function* counted<T>(steps: Steps<T>): Steps<{ readonly result: T; readonly units: number }> {
  for (let units = 0; ;) {
    const { done, value } = steps.next();
    if (done === true) return { result: value, units };
    if (typeof value === 'number') units += value;
    yield value;
  }
}

/** Maps each item in a step of its own. @param units work of one */
export function* mapped<T, Result>(items: Iterable<T>, units: number, map: (item: T) => Result): Steps<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    results.push(map(item));
    yield units;
  }
  return results;
}

/** Takes steps without a pause. */
export const atOnce: RunSteps = (steps) => {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (typeof value !== 'number') return value.then(() => atOnce(steps));
  }
};

/** Short work as one step. */
export function* oneStep<T>(work: () => T): Steps<T> {
  yield 0;
  return work();
}
