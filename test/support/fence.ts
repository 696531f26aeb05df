/** A fence for tests that have the files to themselves. */
import { temporaryName, type Fence } from '../../src/checkpoint/fence.ts';

export const ALONE: Fence = { id: '0123abcd', temporary: (path) => temporaryName(path, '0123abcd'), check: async () => undefined };
