/** How long `millrace --help` takes beside Node's own start. `node bench/startup.ts [rounds]` */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { machine } from './support/processes.ts';

const rounds = Number(process.argv[2] ?? 21);
const cli = join(import.meta.dirname, '../dist/cli/millrace.js');

function medianMs(args: readonly string[]): number {
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const started = performance.now();
    spawnSync(process.execPath, args, { stdio: 'ignore' });
    times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
}

process.stdout.write(`${machine()}, median of ${rounds}\n\n| | ms |\n|---|---:|\n`);
for (const [name, args] of [
  ['node -e 0', ['-e', '0']],
  ['millrace --help', [cli, '--help']],
  ['millrace run --help', [cli, 'run', '--help']],
] as const) {
  process.stdout.write(`| ${name} | ${Math.round(medianMs(args))} |\n`);
}
