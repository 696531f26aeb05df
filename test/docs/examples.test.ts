/** docs/examples: the scripts run against a scripted service; the rest is compiled, and its flags are known. */
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { compileJob } from '../../src/definition/compile-job.ts';
import { RUN_FLAGS } from '../../src/definition/flags.ts';
import { KEY_BY_FLAG } from '../../src/definition/keys.ts';
import { BUNDLE } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { API_KEY } from '../support/scripted-service.ts';
import { makeFolder, startService } from '../support/world.ts';

const EXAMPLES = 'docs/examples';
const run = promisify(execFile);
const read = (name: string): string => readFileSync(`${EXAMPLES}/${name}`, 'utf8');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program beside a `millrace` that is stopped on its first start (75), and real on the next ones. */
async function runExample(command: (at: (name: string) => string) => readonly [string, ...string[]]): Promise<Ended & { starts: number }> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  const at = (name: string): string => folder.at(name);
  cpSync(EXAMPLES, at('.'), { recursive: true });
  mkdirSync(at('bin'));
  writeFileSync(
    at('bin/millrace'),
    `#!/bin/sh
echo start >>'${at('starts')}'
[ "$(wc -l <'${at('starts')}')" -gt 1 ] || exit 75
exec '${process.execPath}' '${BUNDLE}' "$@"
`,
  );
  chmodSync(at('bin/millrace'), 0o755);
  writeFileSync(at('leads-2026-11-20.csv'), toCsv(leads(20, 3)));
  const env = {
    PATH: `${at('bin')}${delimiter}${process.env['PATH']}`,
    MILLRACE_API_KEY: API_KEY,
    MILLRACE_BASE_URL: service.url,
    ENRICH_PAUSE: '0',
  };
  const [program, ...args] = command(at);
  const ended = await run(program, args, { cwd: folder.path, env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Ended) => error,
  );
  return {
    code: ended.code,
    stdout: ended.stdout,
    stderr: ended.stderr,
    starts: readFileSync(at('starts'), 'utf8').split('\n').length - 1,
  };
}

it('cron: a run that stopped early is started again, and a good night prints nothing', async () => {
  const { code, stdout, starts } = await runExample((at) => [at('cron/enrich-leads.sh'), '2026-11-20']);
  expect({ code, stdout, starts }).toEqual({ code: 0, stdout: '', starts: 2 });
});

it('cron: a run that cannot be repeated ends at once, and says how to look at it', async () => {
  const { code, stdout, starts } = await runExample((at) => [at('cron/enrich-leads.sh'), '2026-11-21']);
  expect(code).toBe(65);
  expect(starts).toBe(2);
  expect(stdout).toBe('enriching the leads of 2026-11-21 ended with exit code 65: millrace status job.yaml --date 2026-11-21\n');
});

it('Python: the caller resumes a stopped run, and reads report and rows', async () => {
  const flags = ['leads-2026-11-20.csv', 'out.csv', '--plan', 'enterprise', '--progress', 'none'];
  const script =
    'import enrich_leads, time; time.sleep = lambda _: None; import runpy; runpy.run_path(enrich_leads.__file__, run_name="__main__")';
  const { code, stdout, stderr, starts } = await runExample((at) => [
    'python3',
    '-c',
    `import sys; sys.path.insert(0, "${at('python')}"); ${script}`,
    ...flags,
  ]);
  expect({ code, stderr, starts }).toEqual({ code: 0, stderr: '', starts: 2 });
  expect(stdout).toMatch(/^\d+ of 20 matched, \d+ deliverable\n$/);
});

it('Airflow: the DAG is Python, and retries the exit codes that resume', async () => {
  await run('python3', ['-c', `import ast; ast.parse(open("${EXAMPLES}/airflow/enrich_leads.py").read())`]);
  expect(read('airflow/enrich_leads.py')).toContain('RESUMABLE = {69, 74, 75}');
});

it('GitHub Actions: the workflow is YAML with a schedule, and takes its key from a secret', () => {
  const workflow = parse(read('github-actions/enrich-leads.yml')) as {
    on: { schedule: unknown[] };
    jobs: { enrich: { steps: unknown[] } };
  };
  expect(workflow.on.schedule).toEqual([{ cron: '15 2 * * *' }]);
  expect(JSON.stringify(workflow.jobs.enrich.steps)).toContain('secrets.MILLRACE_API_KEY');
});

it('the job compiles, and is the one that the page shows', () => {
  const file = { path: 'job.yaml', name: 'job', value: parse(read('job.yaml')) as unknown };
  const { job, warnings } = compileJob({ file, env: {}, flags: new Map(), date: null, now: new Date('2026-11-20') });
  expect(warnings).toEqual([]);
  expect(job.output.uri).toMatch(/enriched-2026-11-20\.csv$/);
  expect(read('README.md')).toContain(`\`\`\`yaml\n${read('job.yaml')}\`\`\``);
});

describe.each(globSync(`${EXAMPLES}/*/*`))('%s', (path) => {
  it('uses only flags that exist', () => {
    const known = [...RUN_FLAGS, ...KEY_BY_FLAG.keys(), 'global'];
    const used = [...readFileSync(path, 'utf8').matchAll(/(?<=[\s"'])--([a-z][a-z-]*)/g)].map(([, flag = '']) => flag);
    expect(used.filter((flag) => !known.includes(flag))).toEqual([]);
  });

  it('has its row on the page', () => {
    expect(read('README.md')).toContain(path.slice(EXAMPLES.length + 1));
  });
});
