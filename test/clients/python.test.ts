/** The Python library: its checkers find nothing, it installs, and the examples of its README run. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { pythonTools } from '../../clients/conformance/python.ts';
import { World } from '../../clients/conformance/world.ts';
import { startService } from '../../src/service/app/start-service.ts';
import { publishedExamples } from '../../src/service/reference/code-samples.ts';
import { available } from '../services/debian.ts';
import { cleanUp } from '../support/clean-up.ts';

const run = promisify(execFile);
const LIBRARY = 'clients/python';
let bin = '';

beforeAll(async () => {
  const tools = await pythonTools(resolve(LIBRARY));
  if (typeof tools !== 'string') bin = tools.bin;
  else available(false, 'the Python library', tools);
});

/** The output of a tool that is run in the folder of the library. A failed tool's output is the message of the error. */
async function python(tool: string, args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<string> {
  try {
    const started = run(join(bin, tool), args, { cwd: LIBRARY, env: { ...process.env, ...env } });
    started.child.stdin?.end(input);
    return (await started).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${stdout}${stderr}`, { cause: error });
  }
}

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-python-'));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function examplesOf(): Promise<string[]> {
  const readme = await readFile(`${LIBRARY}/README.md`, 'utf8');
  return [...readme.matchAll(/^```python\n([^]*?)^```/gm)].map(([, code = '']) => code);
}

it('ruff and mypy find nothing in the Python library', async ({ skip }) => {
  if (bin === '') skip();
  await python('ruff', ['check', '.']);
  await python('ruff', ['format', '--check', '.']);
  const folder = await temporary();
  const files = (await examplesOf()).map((_, i) => join(folder, `example_${i}.py`));
  for (const [i, example] of (await examplesOf()).entries()) await writeFile(files[i] ?? '', example);
  expect(await python('mypy', ['--strict', 'src', 'conformance.py', ...files])).toContain('Success: no issues found');
});

it('ruff and mypy find nothing in the Python examples of the reference', async ({ skip }) => {
  if (bin === '') skip();
  const folder = await temporary();
  const examples = Object.entries(publishedExamples()).flatMap(([name, { python: lines }]) =>
    lines === undefined ? [] : [{ file: join(folder, `${name}.py`), code: `${lines.join('\n')}\n` }],
  );
  for (const { file, code } of examples) await writeFile(file, code);
  const files = examples.map(({ file }) => file);
  await python('ruff', ['format', '--check', '--isolated', ...files]);
  expect(await python('mypy', ['--strict', ...files])).toContain('Success: no issues found');
});

it('pip installs the Python library with its types', async ({ skip }) => {
  if (bin === '') skip();
  const folder = await temporary();
  await python('python', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--no-build-isolation', '--target', folder, '.']);
  const code = [
    'import millrace, pathlib',
    'print(millrace.__version__, pathlib.Path(millrace.__file__).with_name("py.typed").exists(), millrace.__file__)',
  ].join('\n');
  expect(await python('python', ['-P', '-c', code], { PYTHONPATH: folder })).toMatch(/^0\.\d+\.\d+ True .*millrace-python-/);
});

it('the public Standard Webhooks library of Python accepts our deliveries, and we accept its own', async ({ skip }) => {
  if (bin === '') skip();
  const world = await World.open();
  cleanUp(() => world.close());
  await world.signDeliveries();
  const code = `
import datetime, json, sys, millrace, standardwebhooks
delivery = json.load(sys.stdin)
public = standardwebhooks.Webhook(delivery["secrets"])
print("accepted", public.verify(delivery["body"], delivery["headers"])["type"])
now = datetime.datetime.now(tz=datetime.timezone.utc)
signed = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now.timestamp()))}
signed["webhook-signature"] = public.sign("msg_1", now, delivery["body"])
print("accepts", millrace.verify_webhook(delivery["body"], signed, delivery["secrets"]).type)
`;
  const printed = await python('python', ['-c', code], {}, JSON.stringify(world.values['delivery']));
  expect(printed).toBe('accepted funding.round\naccepts funding.round\n');
});

it('the examples of the README run', async ({ skip }) => {
  if (bin === '') skip();
  const folder = await temporary();
  const service = await startService({ store: join(folder, 'store.sqlite'), sample: true, development: true });
  cleanUp(() => service.close(AbortSignal.abort()));
  const examples = (await examplesOf()).map((code) => code.replace('http://127.0.0.1:8080', service.url));
  expect(examples.length).toBe(7);
  const all = 'import json, sys\nfor code in json.load(open(sys.argv[1])): exec(code, {"__name__": "example"})';
  const file = join(folder, 'examples.json');
  await writeFile(file, JSON.stringify(examples));
  const printed = await python('python', ['-W', 'error', '-c', all, file], {
    MILLRACE_API_KEY: 'sample-key',
    MILLRACE_BASE_URL: service.url,
  });
  expect(printed).toContain('Jérôme Noël, Director of Sales');
  expect(printed).toContain('risky imani.irving@gmail.com');
  expect(printed).toContain('validation_failed 422 req_');
  expect(printed).toContain('completed 0 1000');
  expect(printed).toContain('401');
});

it('docs/clients.md shows the first example of the README', async () => {
  expect(await readFile('docs/clients.md', 'utf8')).toContain((await examplesOf())[0]);
});
