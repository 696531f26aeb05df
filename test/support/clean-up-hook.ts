/** Set-up of all test files. A hook in a helper would run only in the first of the files that share a worker. */
import { afterEach, vi } from 'vitest';
import { cleanUpNow } from './clean-up.ts';

afterEach(async () => {
  try {
    await cleanUpNow();
  } finally {
    vi.restoreAllMocks();
  }
});
