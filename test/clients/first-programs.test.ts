/** The first program of each README, against answers that a first user meets: a record without company, nothing at all, and nobody. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { goTools } from '../../clients/conformance/go.ts';
import { lackingPhp } from '../../clients/conformance/php.ts';
import { pythonTools } from '../../clients/conformance/python.ts';
import { lackingRuby } from '../../clients/conformance/ruby.ts';
import { buildNodeClient } from '../../clients/node/build.ts';
import { available } from '../services/debian.ts';
import { cleanUp } from '../support/clean-up.ts';

const run = promisify(execFile);
const LIBRARIES = resolve('clients');
const ADDRESS = 'http://127.0.0.1:8080';

interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Writes a program into a folder, and says how it is started; else why it cannot be. */
type Prepare = (code: string, folder: string) => Promise<Program | string>;

const LANGUAGES: Readonly<Record<string, readonly [fence: string, Prepare]>> = {
  python: ['python', python],
  node: ['ts', node],
  go: ['go', go],
  ruby: ['ruby', ruby],
  php: ['php', php],
};

async function python(code: string, folder: string): Promise<Program | string> {
  const tools = await pythonTools(join(LIBRARIES, 'python'));
  return typeof tools === 'string' ? tools : { command: join(tools.bin, 'python'), args: ['-c', code], cwd: folder };
}

async function node(code: string, folder: string): Promise<Program> {
  await buildNodeClient();
  await mkdir(join(folder, 'node_modules/@millrace'), { recursive: true });
  await symlink(join(LIBRARIES, 'node'), join(folder, 'node_modules/@millrace/client'));
  await writeFile(join(folder, 'first.mjs'), code);
  return { command: process.execPath, args: ['first.mjs'], cwd: folder };
}

async function go(code: string, folder: string): Promise<Program | string> {
  const tools = await goTools();
  if (typeof tools === 'string') return tools;
  await writeFile(join(folder, 'main.go'), code);
  const env = { ...process.env, ...tools.env };
  await run(tools.go, ['mod', 'init', 'acme.example/first'], { cwd: folder, env });
  const library = ['-require=millrace.example/millrace@v0.1.0', `-replace=millrace.example/millrace=${join(LIBRARIES, 'go')}`];
  await run(tools.go, ['mod', 'edit', ...library], { cwd: folder, env });
  await run(tools.go, ['build', '-o', 'first', '.'], { cwd: folder, env });
  return { command: join(folder, 'first'), args: [], cwd: folder };
}

async function ruby(code: string, folder: string): Promise<Program | string> {
  const lacks = await lackingRuby();
  return lacks ?? { command: 'ruby', args: ['-W', '-I', join(LIBRARIES, 'ruby/lib'), '-e', code], cwd: folder };
}

async function php(code: string, folder: string): Promise<Program | string> {
  const lacks = await lackingPhp();
  await writeFile(join(folder, 'first.php'), `<?php\n${code.replace('vendor/autoload.php', join(LIBRARIES, 'php/autoload.php'))}`);
  return lacks ?? { command: 'php', args: ['-d', 'display_errors=stderr', 'first.php'], cwd: folder };
}

const ANSWERS = {
  withoutCompany: { status: 200, body: { id: 'pe_1', name: 'Ana Lima', title: 'CTO' } },
  nobody: { status: 404, body: { code: 'no_match', status: 404, detail: 'nobody is known', retryable: false } },
  nothing: { status: 204, body: null },
} as const;

/** A service that gives one answer, and counts the requests. */
async function serve({ status, body }: (typeof ANSWERS)[keyof typeof ANSWERS]): Promise<string> {
  const type = status === 404 ? 'application/problem+json' : 'application/json';
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': type }).end(body === null ? undefined : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function outcomeOf({ command, args, cwd, env }: Program): Promise<{ readonly code: number; readonly text: string }> {
  try {
    const { stdout, stderr } = await run(command, args, { cwd, env: { ...process.env, ...env } });
    return { code: 0, text: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, text: stdout + stderr };
  }
}

describe.each(Object.entries(LANGUAGES))('the first program of the README of %s', (language, [fence, prepare]) => {
  let first = '';
  beforeAll(async () => {
    const readme = await readFile(join(LIBRARIES, language, 'README.md'), 'utf8');
    first = new RegExp(`^\`\`\`${fence}\\n([^]*?)^\`\`\``, 'm').exec(readme)?.[1] ?? '';
    expect(first).toContain(ADDRESS);
  });

  it.each([
    ['prints a person without a company', 'withoutCompany', 0, /Ana Lima/],
    ['says that nobody is known', 'nobody', 0, /^not known\n$/],
    ['ends with bad_body for an answer of 204', 'nothing', 1, /bad_body/],
  ] as const)('%s', async (_, answer, code, text) => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-first-'));
    cleanUp(() => rm(folder, { recursive: true, force: true }));
    const program = await prepare(first.replace(ADDRESS, await serve(ANSWERS[answer])), folder);
    if (typeof program === 'string') return void available(false, `the ${language} library`, program);
    const outcome = await outcomeOf(program);
    expect(outcome.text).toMatch(text);
    expect(outcome.text).not.toMatch(/panic|Uncaught TypeError|AttributeError|NoMethodError|Warning/);
    expect(Math.min(outcome.code, 1)).toBe(code);
  });
});
