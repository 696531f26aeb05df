import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Publisher } from '../../src/ledger/claims/publisher.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('the publisher retries a locked ledger with growing delays, and ends the run with 75 after 15 s', () => {
  const failed = vi.fn();
  const publish = vi.fn(() => false);
  const publisher = new Publisher({
    path: 'answers.ledger',
    publish,
    published: () => undefined,
    failed,
    monotonicNow: () => performance.now(),
  });
  publisher.answered([1]);
  vi.advanceTimersByTime(15_000);
  expect(failed).not.toHaveBeenCalled();
  expect(publish.mock.calls.length).toBeLessThan(250);
  vi.advanceTimersByTime(200);
  expect(failed).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ exitCode: 75, code: 'ledger_busy' }));
  const tries = publish.mock.calls.length;
  vi.advanceTimersByTime(1_000);
  expect(publish).toHaveBeenCalledTimes(tries);
});

it('the publisher publishes the waiting answers once the ledger is free, and the 15 s start again', () => {
  const failed = vi.fn();
  const published = vi.fn();
  let isFree = false;
  const publisher = new Publisher({
    path: 'answers.ledger',
    publish: () => isFree,
    published,
    failed,
    monotonicNow: () => performance.now(),
  });
  for (const hash of [1, 2]) {
    publisher.answered([hash]);
    isFree = false;
    vi.advanceTimersByTime(14_000);
    isFree = true;
    vi.advanceTimersByTime(200);
    expect(published).toHaveBeenLastCalledWith([hash]);
  }
  expect(failed).not.toHaveBeenCalled();
});
