/**
 * A public fuzzer against the running service: schemathesis reads `/openapi.json`, makes requests that the document allows and requests
 * that it does not, and holds every answer against the document. `npx node bench/fuzz.ts [requests an operation] [SEED] [REPORT]` after
 * `npm run build`. It needs `schemathesis` (`python3 -m venv V && V/bin/pip install schemathesis`) on the PATH, or named by SCHEMATHESIS.
 * It ends with 1 when a failure is none of `support/fuzz-false-failures.ts`; the report is a JSON file.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createReadStream, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createKey } from '../src/service/accounts/keys.ts';
import { SAMPLE_KEY } from '../src/service/sample/sample-store.ts';
import { openStore } from '../src/service/store/open-store.ts';
import { reasonOf, type Failure } from './support/fuzz-false-failures.ts';
import { machine } from './support/processes.ts';

const examples = Number(process.argv[2] ?? 60);
const seed = Number(process.argv[3] ?? 20_261_123);
const reportPath = process.argv[4] ?? 'fuzz-report.json';
const schemathesis = process.env['SCHEMATHESIS'] ?? 'schemathesis';
/** Seconds. Webhook deliveries and verdicts of mail servers take a few. */
const TIMEOUT_S = 60;
const PHASES = 'examples,coverage,fuzzing';

const folder = mkdtempSync(join(tmpdir(), 'millrace-fuzz-'));
const store = join(folder, 'store.sqlite');
const command = fileURLToPath(new URL('../dist/cli/millrace.js', import.meta.url));

interface Check {
  readonly name: string;
  readonly status: string;
  readonly failure_info?: { readonly failure?: { readonly title?: string; readonly message?: string } } | null;
}
interface Interaction {
  readonly request: { readonly method: string; readonly uri: string; readonly headers: Readonly<Record<string, unknown>> };
  readonly response: { readonly status_code: number; readonly content: { readonly $base64?: string } | null } | null;
}
interface Recorder {
  readonly label: string;
  readonly checks?: Readonly<Record<string, readonly Check[]>>;
  readonly interactions?: Readonly<Record<string, Interaction>>;
}

interface Counts {
  readonly statuses: Record<string, number>;
  readonly checks: Record<string, number>;
  readonly falseFailures: Record<string, number>;
  readonly failures: Failure[];
  requests: number;
}

const add = (counts: Record<string, number>, name: string): void => void (counts[name] = (counts[name] ?? 0) + 1);

/** Runs the fuzzer with one key, and counts its checks. */
async function fuzz(url: string, plan: string, key: string, perOperation: number): Promise<Counts> {
  const reports = join(folder, plan);
  mkdirSync(reports);
  const args = [
    'run',
    `${url}/openapi.json`,
    '-H',
    `Authorization: Bearer ${key}`,
    '--checks',
    'all',
    '--phases',
    PHASES,
    '--seed',
    String(seed),
    '-n',
    String(perOperation),
    '--continue-on-failure',
    '--no-shrink',
    '--request-timeout',
    String(TIMEOUT_S),
    '--generation-database',
    'none',
    '--report',
    'ndjson',
    '--report-dir',
    reports,
    '--no-color',
  ];
  const child = spawn(schemathesis, args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      SCHEMATHESIS_HOOKS: 'fuzz_hooks',
      PYTHONPATH: fileURLToPath(new URL('support', import.meta.url)),
      PYTHONDONTWRITEBYTECODE: '1',
    },
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const [name] = readdirSync(reports).filter((file) => file.endsWith('.ndjson'));
  // Exit code 1 means that it found failures, which are examined here.
  if (name === undefined || (code !== 0 && code !== 1)) throw new Error(`schemathesis ended with ${code}`);
  return readReport(join(reports, name));
}

async function readReport(path: string): Promise<Counts> {
  const counts: Counts = { statuses: {}, checks: {}, falseFailures: {}, failures: [], requests: 0 };
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const { ScenarioFinished: scenario } = JSON.parse(line) as { readonly ScenarioFinished?: { readonly recorder: Recorder } };
    if (scenario !== undefined) count(counts, scenario.recorder);
  }
  return counts;
}

/** A skipped scenario has neither checks nor interactions. */
function count(counts: Counts, { label, checks = {}, interactions = {} }: Recorder): void {
  for (const { response } of Object.values(interactions)) {
    counts.requests++;
    add(counts.statuses, String(response?.status_code ?? 'none'));
  }
  for (const [id, made] of Object.entries(checks)) {
    for (const check of made) {
      add(counts.checks, check.name);
      if (check.status === 'success') continue;
      const failure = failureOf(label, check, interactions[id]);
      const why = reasonOf(failure);
      if (why === null) counts.failures.push(failure);
      else add(counts.falseFailures, `${check.name}: ${why}`);
    }
  }
}

function failureOf(operation: string, { name, failure_info: info }: Check, interaction: Interaction | undefined): Failure {
  const { request, response } = interaction ?? {};
  return {
    operation,
    check: name,
    message: `${info?.failure?.title ?? ''} ${info?.failure?.message ?? ''}`.trim(),
    request: `${request?.method} ${request?.uri}`,
    hasKey: request?.headers['Authorization'] !== undefined,
    status: response?.status_code ?? null,
    body: Buffer.from(response?.content?.$base64 ?? '', 'base64').toString('utf8'),
  };
}

const version = spawnSync(schemathesis, ['--version'], { encoding: 'utf8' });
if (version.status !== 0)
  throw new Error(
    'there is no schemathesis: python3 -m venv V && V/bin/pip install schemathesis, and name it by SCHEMATHESIS=V/bin/schemathesis',
  );
const server = spawn(process.execPath, [command, 'serve', '--sample', '--store', store, '--port', '0', '--log-level', 'error'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const ready = await createInterface({ input: server.stdout })[Symbol.asyncIterator]().next();
  const { url } = JSON.parse(String(ready.value)) as { readonly url: string };
  const open = openStore(store);
  // A key with few calls gets refusals for most requests. A smaller run shows that these answers match the document too.
  const runs = [
    { plan: 'enterprise', key: SAMPLE_KEY, perOperation: examples },
    { plan: 'growth', key: createKey(open, { plan: 'growth', credits: 500 }).key, perOperation: Math.ceil(examples / 10) },
    { plan: 'trial', key: createKey(open, { plan: 'trial' }).key, perOperation: 1 },
  ];
  open.close();
  const found: Record<string, Counts> = {};
  for (const { plan, key, perOperation } of runs) found[plan] = await fuzz(url, plan, key, perOperation);
  const stillServes = server.exitCode === null && (await fetch(`${url}/readyz`)).ok;
  const failures = Object.values(found).flatMap((counts) => counts.failures);
  writeFileSync(
    reportPath,
    `${JSON.stringify({ schemathesis: version.stdout.trim(), machine: machine(), seed, examples, stillServes, runs: found }, null, 2)}\n`,
  );
  const rows = Object.entries(found).map(([plan, { requests, checks, statuses, falseFailures, failures: real }]) => {
    const sum = (counts: Readonly<Record<string, number>>): string =>
      Object.values(counts)
        .reduce((all, one) => all + one, 0)
        .toLocaleString('en-US');
    const classes = Object.entries(Object.groupBy(Object.entries(statuses), ([status]) => `${status[0]}xx`)).map(
      ([name, all = []]) => `${name} ${all.reduce((total, [, n]) => total + n, 0).toLocaleString('en-US')}`,
    );
    return (
      '| ' +
      [plan, requests.toLocaleString('en-US'), classes.sort().join(', '), sum(checks), sum(falseFailures), String(real.length)].join(
        ' | ',
      ) +
      ' |'
    );
  });
  process.stdout.write(
    [
      `${version.stdout.trim()}, seed ${seed}, ${examples} requests an operation; ${machine()}`,
      '',
      '| key | requests | answers | checks | false failures | true failures |',
      '|---|---:|---|---:|---:|---:|',
      ...rows,
    ].join('\n') + '\n',
  );
  for (const failure of failures.slice(0, 40))
    process.stderr.write(`${JSON.stringify({ ...failure, request: failure.request.slice(0, 300), body: failure.body.slice(0, 500) })}\n`);
  if (failures.length > 0 || !stillServes) process.exitCode = 1;
} finally {
  server.kill('SIGTERM');
  rmSync(folder, { recursive: true });
}
