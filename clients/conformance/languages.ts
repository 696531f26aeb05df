/** Every language of the suite. To add one, write its runner and add its row. */
import { join } from 'node:path';
import { buildNodeClient } from '../node/build.ts';
import { goRunner } from './go.ts';
import { phpRunner } from './php.ts';
import { pythonRunner } from './python.ts';
import { rubyRunner } from './ruby.ts';
import type { Language } from './runner.ts';

/** Neither Node nor Go has a fork. */
const WITHOUT_FORK = ['a process that was forked opens connections of its own'];
const CLIENTS = join(import.meta.dirname, '..');

/** A language before its tools are there. `prepare` gets them, or returns the reason why they cannot be had. */
export interface Prepared {
  readonly name: string;
  readonly prepare: () => Promise<Language | string>;
}

export const LANGUAGES: readonly Prepared[] = [
  {
    name: 'node',
    async prepare() {
      const env = { MILLRACE_CLIENT: await buildNodeClient() };
      return {
        name: 'node',
        variants: ['millrace', '@millrace/client'],
        unsupported: { millrace: WITHOUT_FORK, '@millrace/client': WITHOUT_FORK },
        // Node collects garbage late unless its heap is small.
        runner: {
          command: process.execPath,
          args: ['--max-old-space-size=64', '--max-semi-space-size=2', 'conformance.ts'],
          cwd: join(CLIENTS, 'node'),
          env,
        },
      };
    },
  },
  {
    name: 'python',
    async prepare() {
      const runner = await pythonRunner(join(CLIENTS, 'python'));
      if (typeof runner === 'string') return runner;
      // A blocking call ends by its time limit; only a task can be cancelled.
      const unsupported = {
        sync: ['a cancelled call ends at once and is not repeated', 'a call that is cancelled during a pause ends at once'],
      };
      return { name: 'python', variants: ['sync', 'async'], unsupported, runner };
    },
  },
  {
    name: 'go',
    async prepare() {
      const runner = await goRunner(join(CLIENTS, 'go'));
      return typeof runner === 'string' ? runner : { name: 'go', variants: ['contexts'], unsupported: { contexts: WITHOUT_FORK }, runner };
    },
  },
  {
    name: 'ruby',
    async prepare() {
      const runner = await rubyRunner(join(CLIENTS, 'ruby'));
      return typeof runner === 'string' ? runner : { name: 'ruby', variants: ['threads'], unsupported: {}, runner };
    },
  },
  {
    name: 'php',
    async prepare() {
      const runner = await phpRunner(join(CLIENTS, 'php'));
      return typeof runner === 'string' ? runner : { name: 'php', variants: ['processes'], unsupported: {}, runner };
    },
  },
];
