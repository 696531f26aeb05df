/** A fence for tests without a second run. */
import { temporaryName, type Fence } from '../../src/storage/fence.ts';

export const ALONE: Fence = { id: '0123abcd', temporary: (path) => temporaryName(path, '0123abcd'), check: async () => undefined };
