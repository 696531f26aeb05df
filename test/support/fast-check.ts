/** fast-check with the seed of the run. */
import { configureGlobal } from 'fast-check';
import { SEED } from './seed.ts';

configureGlobal({ seed: SEED });

export * from 'fast-check';
