#!/usr/bin/env node
/* The command. An old Node must get as far as the message below, so this file is plain and imports only what is as plain. */
import { giveWay } from './give-way.ts';
import { restartArguments } from './heap.ts';
import { oldNodeMessage } from './node-version.ts';

const complaint = oldNodeMessage(process.versions.node);
const restart = complaint === null ? restartArguments(process) : null;
if (complaint !== null) {
  process.stderr.write(complaint);
  process.exitCode = 78;
} else {
  giveWay(process.argv[2]);
  if (restart !== null && process.execve) {
    try {
      process.execve(process.execPath, restart);
    } catch {
      // Forbidden here (seccomp, for one): the run works as well in more memory.
    }
  }
  import('./main.ts').then(
    (cli) => cli.main(process.argv.slice(2)),
    (error) => {
      process.exitCode = 70;
      process.stderr.write(String(error && error.stack) + '\n');
    },
  );
}
