/** The package `@millrace/client`: small, without imports, in both kinds of modules, with types, and on a platform that has only fetch. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import { beforeAll, expect, it } from 'vitest';
import { buildNodeClient } from '../../clients/node/build.ts';
import { startService } from '../../src/service/app/start-service.ts';
import { cleanUp } from '../support/clean-up.ts';

const run = promisify(execFile);
const PACKAGE = resolve('clients/node');
const MOST_BYTES = 150_000;

beforeAll(async () => void (await buildNodeClient()));

/** A project that has the package installed. */
async function project(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-node-'));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'node_modules/@millrace'), { recursive: true });
  await symlink(PACKAGE, join(folder, 'node_modules/@millrace/client'));
  return folder;
}

async function sample(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-node-'));
  const service = await startService({ store: join(folder, 'store.sqlite'), sample: true, development: true });
  cleanUp(async () => {
    await service.close(AbortSignal.abort());
    await rm(folder, { recursive: true, force: true });
  });
  return service.url;
}

async function examplesOf(): Promise<string[]> {
  const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
  return [...readme.matchAll(/^```ts\n([^]*?)^```/gm)].map(([, code = '']) => code);
}

it('the package has no dependency, and takes less than 150 kB when it is installed', async () => {
  const manifest = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8')) as Record<string, unknown>;
  expect(Object.keys(manifest).filter((key) => key.endsWith('ependencies'))).toEqual([]);
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: PACKAGE });
  const [packed] = JSON.parse(stdout) as [{ unpackedSize: number; files: { path: string }[] }];
  expect(packed.files.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['LICENSE', 'README.md', 'dist/index.js', 'dist/index.cjs', 'dist/index.d.ts', 'dist/index.d.cts']),
  );
  expect(packed.unpackedSize).toBeLessThan(MOST_BYTES);
});

it('the version of the package is that of the library', async () => {
  const [own, library] = await Promise.all(
    [join(PACKAGE, 'package.json'), 'package.json'].map(async (path) => JSON.parse(await readFile(path, 'utf8')) as { version: string }),
  );
  expect(own?.version).toBe(library?.version);
});

it('ES modules and CommonJS load the package, and their types are strict', async () => {
  const folder = await project();
  const use = (head: string): string =>
    `${head}\nconst c = new Client({ apiKey: 'k', baseUrl: 'http://x' });\nconsole.log(typeof verifyWebhook, c.lastResponse);\n`;
  await writeFile(join(folder, 'a.mjs'), use(`import { Client, verifyWebhook } from '@millrace/client';`));
  await writeFile(join(folder, 'b.cjs'), use(`const { Client, verifyWebhook } = require('@millrace/client');`));
  for (const file of ['a.mjs', 'b.cjs']) expect((await run(process.execPath, [file], { cwd: folder })).stdout).toBe('function null\n');

  const narrow = `
import { verifyWebhook, type Client, type Person } from '@millrace/client';
export const nameOf = async (client: Client): Promise<string | null | undefined> => (await client.enrich({ email: 'a@b.example' }))?.name;
export const person: Person | null = null;
export async function seen(body: string): Promise<number | null | undefined> {
  const event = await verifyWebhook(body, {}, 'whsec_a');
  return !event.test && event.type === 'funding.round' ? event.data.data?.amount_usd : null;
}
`;
  for (const kind of ['mts', 'cts']) await writeFile(join(folder, `types.${kind}`), narrow);
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', lib: ['es2022', 'dom'], types: [] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['types.mts', 'types.cts'] }));
  const { stdout } = await run(resolve('node_modules/.bin/tsc'), ['-p', folder]).catch((error: unknown) => error as { stdout: string });
  expect(stdout).toBe('');
});

it('the package works where fetch is all there is', async () => {
  const module = await readFile(join(PACKAGE, 'dist/index.js'), 'utf8');
  expect(module).not.toMatch(/require\(|import\(/);
  // A script for the context, which takes no modules.
  const code = module.replace(/export\s*\{([^}]*)\}/, (_all, names: string) => {
    const members = names.split(',').map((name) => name.trim().split(/ as /).toReversed().join(': '));
    return `Object.assign(exports, { ${members.join(', ')} })`;
  });
  const web = {
    AbortController,
    AbortSignal,
    Blob,
    DOMException,
    Headers,
    TextDecoder,
    TextEncoder,
    URL,
    clearTimeout,
    crypto,
    performance,
  };
  const platform = createContext({ ...web, fetch, setTimeout, Error, TypeError, Uint8Array, exports: {} });
  runInContext(code, platform);
  const url = await sample();
  const source = `(async () => {
    const client = new exports.Client({ apiKey: 'sample-key', baseUrl: ${JSON.stringify(url)} });
    const batch = await client.batches.create({ operation: 'verify', file: new Blob(['email\\nx@mailinator.com\\n']), format: 'csv' });
    return [(await client.enrich({ email: 'jerome.noel@tundra-logistics.example' })).name, batch.format];
  })()`;
  expect(await (runInContext(source, platform) as Promise<unknown>)).toEqual(['Jérôme Noël', 'csv']);
});

it('the examples of the README compile and run', async () => {
  const folder = await project();
  const examples = await examplesOf();
  expect(examples.length).toBe(3);
  const url = await sample();
  const env = { ...process.env, MILLRACE_API_KEY: 'sample-key', MILLRACE_BASE_URL: url };
  let printed = '';
  for (const [i, code] of examples.entries()) {
    await writeFile(join(folder, `example-${i}.mts`), code.replace('http://127.0.0.1:8080', url));
    printed += (await run(process.execPath, [`example-${i}.mts`], { cwd: folder, env })).stdout;
  }
  expect(printed).toContain('Jérôme Noël, Director of Sales\n');
  expect(printed).toContain('risky imani.irving@gmail.com\n');
  expect(printed).toContain('1 req_');
  expect(printed).toContain('completed\n');
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', lib: ['es2022', 'dom'], types: [] };
  const files = examples.map((_, i) => `example-${i}.mts`);
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const { stdout } = await run(resolve('node_modules/.bin/tsc'), ['-p', folder]).catch((error: unknown) => error as { stdout: string });
  expect(stdout).toBe('');
});
