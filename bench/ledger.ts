/**
 * Measures the ledger on the way to many answers, step by step: microseconds to store an answer and to look up a key, memory, and the time
 * to open it.
 * `node bench/ledger.ts [answers] [answers a step]`
 */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ledger } from '../src/ledger/ledger.ts';
import { scattered } from './support/leads.ts';
import { machine } from './support/processes.ts';

const answers = Number(process.argv[2] ?? 1_000_000);
const step = Math.min(answers, Number(process.argv[3] ?? 1_000_000));
const SAMPLE = 100_000;
const ANSWER = {
  kind: 'hit',
  text: JSON.stringify({
    email: 'x'.repeat(30),
    name: 'Ada Example',
    title: 'Engineer',
    company: { name: 'Example Works', employees: 120, revenue: '$12M', stack: ['linux', 'postgres', 'react'] },
    verified: true,
  }),
} as const;
const key = (i: number): string => `${scattered(i)}@works${i % 500}.example`;

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const path = join(folder, 'ledger');
const open = (maxAgeDays: number): Ledger => Ledger.open({ path, job: 'bench', run: 'bench', maxAgeDays, now: Date.now });

/** Bytes that this process caused to be written to storage (proc(5), `io`). */
function bytesWritten(): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0);
}

/** Peak memory of this process in MiB, from the kernel (proc(5), VmHWM). */
function peakMiB(): number {
  return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) / 1_024);
}

function microseconds(times: number, work: (i: number) => void): string {
  const started = performance.now();
  for (let i = 0; i < times; i++) work(i);
  return (((performance.now() - started) * 1_000) / times).toFixed(1);
}

try {
  let ledger = open(0);
  let scope = ledger.scope('http://127.0.0.1', 'enrich', '');
  let longestMs = 0;
  process.stdout.write(
    `${answers.toLocaleString('en-US')} answers of ${ANSWER.text.length} bytes; ` +
      `${machine()}\n\n| answers | us an answer (get, put, flushed every 2,000) | bytes ` +
      'written an answer | peak MiB |\n|---:|---:|---:|---:|\n',
  );
  for (let from = 0; from < answers; from += step) {
    const writtenBefore = bytesWritten();
    const kept = microseconds(step, (i) => {
      const started = performance.now();
      ledger.get(scope, key(from + i));
      ledger.put([{ scope, key: key(from + i), answer: ANSWER }]);
      longestMs = Math.max(longestMs, performance.now() - started);
    });
    process.stdout.write(
      `| ${(from + step).toLocaleString('en-US')} | ${kept} | ${Math.round((bytesWritten() - writtenBefore) / step)} | ${peakMiB()} |\n`,
    );
  }
  const lines: (readonly [string, string])[] = [];
  lines.push(['an absent key, this job alone (filter)', microseconds(SAMPLE, (i) => ledger.get(scope, key(answers + i)))]);
  ledger.close();
  lines.push([
    'to open it again',
    microseconds(1, () => {
      ledger = open(1);
    }),
  ]);
  scope = ledger.scope('http://127.0.0.1', 'enrich', '');
  const anywhere = (i: number): number => (i * 7_919) % answers;
  lines.push(['an absent key, shared ledger', microseconds(SAMPLE, (i) => ledger.get(scope, `${anywhere(i)}@absent.example`))]);
  lines.push(['a key that is there', microseconds(SAMPLE, (i) => ledger.get(scope, key(anywhere(i))))]);
  ledger.close();
  process.stdout.write(
    `${[
      '',
      '| | us |',
      '|---|---:|',
      ...lines.map(([name, us]) => `| ${name} | ${us} |`),
      '',
      `The file has ${Math.round(statSync(path).size / answers)} bytes an answer. Longest single call (a flush): ` +
        `${Math.round(longestMs)} ms. Peak memory: ${peakMiB()} MiB`,
    ].join('\n')}\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
