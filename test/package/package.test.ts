/** The package as a user gets it: packed, installed in an empty folder under Node 24, imported, compiled against and started. */
import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-package-'));
const app = join(folder, 'app');
const installed = join(app, 'node_modules/millrace');
/** Node 24 first in the path, because npm runs under the first one. */
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
  npm_config_nodedir: undefined,
  NODE_ENV: undefined,
  NODE_OPTIONS: '',
};

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly dev?: boolean; readonly devOptional?: boolean; readonly link?: boolean; readonly version?: string }>
  >;
}
const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8')) as unknown;
const own = read('package.json') as Readonly<Record<string, unknown>>;

/** The versions of our own lock file, which npm has in its cache, so that nothing is fetched. */
function lockFor(tarball: string): object {
  const { packages } = read('package-lock.json') as Lock;
  const used = Object.entries(packages).filter(
    ([path, { dev = false, devOptional = false, link = false }]) => path.startsWith('node_modules/') && !dev && !devOptional && !link,
  );
  const { version, dependencies, bin, engines } = own;
  return {
    lockfileVersion: 3,
    requires: true,
    packages: {
      '': { dependencies: { millrace: tarball } },
      'node_modules/millrace': { version, resolved: tarball, dependencies, bin, engines },
      ...Object.fromEntries(used),
    },
  };
}

beforeAll(async () => {
  mkdirSync(app);
  // The build stands already: scripts would make it again while other tests read it.
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', app], { cwd: root, env });
  const tarball = `file:millrace-${String(own['version'])}.tgz`;
  writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: { millrace: tarball } }));
  writeFileSync(join(app, 'package-lock.json'), JSON.stringify(lockFor(tarball)));
  const { stdout, stderr } = await run('npm', ['ci', '--prefer-offline', '--foreground-scripts'], { cwd: app, env });
  // A key of the user's own npm settings that npm no longer knows is none of ours.
  const warnings = stderr.split('\n').filter((line) => line !== '' && !line.includes('Unknown user config'));
  expect({ warnings, stdout: /added \d+ packages/.test(stdout) }).toEqual({ warnings: [], stdout: true });
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('has no script that npm runs at the user', () => {
  const { scripts = {} } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { scripts?: Record<string, string> };
  const atInstall = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare'];
  expect(Object.keys(scripts).filter((name) => atInstall.includes(name))).toEqual([]);
});

it('contains the build, the sample and the lists, and nothing else', () => {
  const files = globSync('**', { cwd: installed, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(installed.length + 1));
  expect(
    files.filter(
      (file) => !/^(?:dist|fixtures\/(?:sample|lists)|docs|jobs)\/|^(?:fixtures\/leads\.csv|LICENSE|README\.md|package\.json)$/.test(file),
    ),
  ).toEqual([]);
  expect(files.filter((file) => /\.(?:map|tsbuildinfo)$|(?<!\.d)\.ts$/.test(file))).toEqual([]);
});

it('can be imported without a word on standard error', async () => {
  writeFileSync(
    join(app, 'import.js'),
    `import { runJob, DataServiceClient, verifier } from 'millrace';
const check = verifier();
const { result } = await check.verify('x@mailinator.com', { mode: 'syntax' });
const job = { input: { uri: 'leads.csv' }, output: { uri: 'out.csv' }, service: { embedded: true }, limits: { limit: 5 } };
const { exitCode, report } = await runJob(job, { env: {} });
console.log(typeof DataServiceClient, result, exitCode, report.records.total);
`,
  );
  cpSync(join(root, 'fixtures/leads.csv'), join(app, 'leads.csv'));
  const { stdout, stderr } = await run(process.execPath, ['import.js'], { cwd: app, env });
  expect({ stdout, stderr }).toEqual({ stdout: 'function risky 0 5\n', stderr: '' });
});

it('has a command that runs the sample job in any folder', async () => {
  const { stderr } = await run(join(app, 'node_modules/.bin/millrace'), ['run', 'sample', '--limit', '5', '--progress', 'none'], {
    cwd: app,
    env,
  });
  expect(stderr).toMatch(/^warning: sample data: [^\n]*\n$/);
});

it('has types that a strict program compiles against, those of its dependencies included', async () => {
  writeFileSync(
    join(app, 'types.ts'),
    `import { runJob, type JobEvent } from 'millrace';
const lastWord = (event: JobEvent): string => (event.type === 'finished' ? String(event.report.records.total) : event.type);
const { exitCode } = await runJob({ output: { uri: 'out.csv' } }, { onEvent: (event) => console.log(lastWord(event)) });
// @ts-expect-error: there is no such key
await runJob({ imput: {} });
console.log(exitCode satisfies number);
`,
  );
  const flags = '--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2024 --types node --typeRoots';
  const compiled = run(join(root, 'node_modules/.bin/tsc'), [...flags.split(' '), join(root, 'node_modules/@types'), 'types.ts'], {
    cwd: app,
  });
  expect(
    await compiled.then(
      ({ stdout }) => stdout,
      (error: { stdout: string }) => error.stdout,
    ),
  ).toBe('');
});
