#!/usr/bin/env node
/* The command. An old Node must get as far as the message below, so this file is plain and imports only what is as plain. */
import { oldNodeMessage } from './node-version.ts';

const complaint = oldNodeMessage(process.versions.node);
if (complaint !== null) {
  process.stderr.write(complaint);
  process.exitCode = 78;
} else {
  import('./main.ts').then((cli) => cli.main(process.argv.slice(2)), (error) => {
    process.exitCode = 70;
    process.stderr.write(String(error && error.stack) + '\n');
  });
}
