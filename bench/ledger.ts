/** What the ledger costs: microseconds an answer kept, and a key asked for. `node bench/ledger.ts [answers]` */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ledger } from '../src/ledger/ledger.ts';
import { scattered } from './support/leads.ts';
import { machine } from './support/processes.ts';

const answers = Number(process.argv[2] ?? 1_000_000);
const SAMPLE = 100_000;
const ANSWER = { kind: 'hit', text: JSON.stringify({ email: 'x'.repeat(30), name: 'Ada Example', title: 'Engineer', company: { name: 'Example Works', employees: 120, revenue: '$12M', stack: ['linux', 'postgres', 'react'] }, verified: true }) } as const;
const key = (i: number): string => `${scattered(i)}@works${i % 500}.example`;

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const path = join(folder, 'ledger');
const open = (maxAgeDays: number): Ledger => Ledger.open({ path, job: 'bench', run: 'bench', maxAgeDays, now: Date.now });

/** proc(5), `io`: what this process caused to be written to storage. */
function bytesWritten(): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0);
}

function microseconds(times: number, work: (i: number) => void): string {
  const started = performance.now();
  for (let i = 0; i < times; i++) work(i);
  return (((performance.now() - started) * 1_000) / times).toFixed(1);
}

try {
  const lines: (readonly [string, string])[] = [];
  let ledger = open(0);
  let scope = ledger.scope('http://127.0.0.1', 'enrich', '');
  let longestMs = 0;
  const writtenBefore = bytesWritten();
  lines.push(['an answer kept (get, put, flushed every 2,000)', microseconds(answers, (i) => {
    const started = performance.now();
    ledger.get(scope, key(i));
    ledger.put([{ scope, key: key(i), answer: ANSWER }]);
    longestMs = Math.max(longestMs, performance.now() - started);
  })]);
  const written = Math.round((bytesWritten() - writtenBefore) / answers);
  lines.push(['an absent key, this job alone (filter)', microseconds(SAMPLE, (i) => ledger.get(scope, key(answers + i)))]);
  ledger.close();
  ledger = open(1);
  scope = ledger.scope('http://127.0.0.1', 'enrich', '');
  const anywhere = (i: number): number => (i * 7_919) % answers;
  lines.push(['an absent key, shared ledger', microseconds(SAMPLE, (i) => ledger.get(scope, `${anywhere(i)}@absent.example`))]);
  lines.push(['a key that is there', microseconds(SAMPLE, (i) => ledger.get(scope, key(anywhere(i))))]);
  ledger.close();
  process.stdout.write(
    `${[
      `${answers.toLocaleString('en-US')} answers of ${ANSWER.text.length} bytes; ${machine()}`,
      '',
      '| | us |',
      '|---|---:|',
      ...lines.map(([name, us]) => `| ${name} | ${us} |`),
      '',
      `Written to the disk: ${written} bytes an answer; the file has ${Math.round(statSync(path).size / answers)}. Longest single call (a flush): ${Math.round(longestMs)} ms. Peak memory: ${Math.round(process.resourceUsage().maxRSS / 1_024)} MiB`,
    ].join('\n')}\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
