/** The Go of the tests: a toolchain that is on the machine. Its builds are kept. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Runner } from './runner.ts';

const run = promisify(execFile);
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/millrace-clients/go');
/** Built packages and tools, for all checkouts of a user. `npm ci` empties node_modules, and building them takes a minute of a core. */
const BUILDS = join(process.env['KEPT_TMPDIR'] ?? tmpdir(), `millrace-go-builds-${process.getuid?.() ?? 'all'}`);

/** The first minor version of Go that has iterators. */
const LEAST_MINOR = 23;
/** Where Go's own installer puts it. */
const USUAL = '/usr/local/go/bin/go';
/** This release needs Go 1.26. */
const STATICCHECK = 'honnef.co/go/tools/cmd/staticcheck@v0.8.2';

export interface GoTools {
  readonly go: string;
  readonly gofmt: string;
  /** For each command: no other toolchain is downloaded, and nothing is written outside the two caches. */
  readonly env: Readonly<Record<string, string>>;
}

/** The commands of Go; else why there is none. */
export async function goTools(): Promise<string | GoTools> {
  const env = { GOTOOLCHAIN: 'local', GOFLAGS: '-buildvcs=false', GOCACHE: join(BUILDS, 'packages') };
  for (const go of ['go', USUAL]) {
    const [minor, root] = await versionOf(go, env);
    if (minor >= LEAST_MINOR) return { go, gofmt: join(root, 'bin/gofmt'), env };
  }
  return `Go 1.${LEAST_MINOR} or later is neither on PATH nor in /usr/local/go; Debian's may be older: get it from https://go.dev/dl/`;
}

async function versionOf(go: string, env: Readonly<Record<string, string>>): Promise<readonly [number, string]> {
  try {
    const { stdout } = await run(go, ['env', 'GOVERSION', 'GOROOT'], { env: { ...process.env, ...env } });
    const [version = '', root = ''] = stdout.split('\n');
    return [Number(/^go1\.(\d+)/.exec(version)?.[1] ?? 0), root];
  } catch {
    return [0, ''];
  }
}

/** The path of staticcheck, which the first call builds. @throws Error when it cannot be built */
export async function staticcheck({ go, env }: GoTools): Promise<string> {
  const version = STATICCHECK.split('@')[1] ?? '';
  const bin = join(BUILDS, `staticcheck-${version}`);
  if (!existsSync(join(bin, 'staticcheck'))) {
    // CGO would ask for a C compiler.
    await run(go, ['install', STATICCHECK], { env: { ...process.env, ...env, CGO_ENABLED: '0', GOBIN: bin } });
  }
  return join(bin, 'staticcheck');
}

export async function goRunner(library: string): Promise<Runner | string> {
  const tools = await goTools();
  if (typeof tools === 'string') return tools;
  const command = join(CACHE, 'conformance');
  try {
    await mkdir(CACHE, { recursive: true });
    await run(tools.go, ['build', '-o', command, './internal/conformance'], { cwd: library, env: { ...process.env, ...tools.env } });
  } catch (error) {
    return `the runner of Go cannot be built: ${(error as { stderr?: string }).stderr ?? String(error)}`;
  }
  return { command, args: [], cwd: library };
}
