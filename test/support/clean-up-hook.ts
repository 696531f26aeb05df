/** Set-up for all files: a helper that hooked itself in would be heard in the first of the files that share a worker, and in no other. */
import { afterEach } from 'vitest';
import { cleanUpNow } from './clean-up.ts';

afterEach(cleanUpNow);
