import { expect, it } from 'vitest';
import type { CallResult } from '../../src/client/types.ts';
import { waitedTooLong } from '../../src/lookup/too-large.ts';

type Failure = CallResult<unknown> & { readonly kind: 'retryable' };

const failed = (status: number, latencyMs: number): Failure =>
  ({
    kind: 'retryable',
    code: `http_${status}`,
    detail: '',
    retryAfterMs: null,
    meta: { status, latencyMs, requestId: null, headers: {} },
  }) as unknown as Failure;

it.each([408, 504, 524])('a late HTTP %d means that a request is too large, and an early one says nothing about its size', (status) => {
  expect(waitedTooLong(failed(status, 5_000), 30_000)).toBe(`were answered with HTTP ${status} (waited too long)`);
  expect(waitedTooLong(failed(status, 4_999), 30_000)).toBeNull();
  expect(waitedTooLong(failed(status, 250), 1_000)).not.toBeNull();
  expect(waitedTooLong(failed(status, 3), 1_000)).toBeNull();
});
