/** A container engine for the tests. Where no registry can be reached, the base image is built here. */
import { execFile } from 'node:child_process';
import { appendFile, cp, mkdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { Daemons } from '../services/daemons.ts';
import { lackingPackages } from '../services/debian.ts';

const run = promisify(execFile);
/** Milliseconds. On an idle machine these commands take a minute at most. */
const COMMAND_MS = 20 * 60_000;

export interface Engine {
  /** Runs `docker` with these arguments. Returns its output and exit code. */
  readonly docker: (...args: string[]) => Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;
  end(): Promise<void>;
}

/** @returns the reason when it can be neither found nor installed */
export async function startEngine(): Promise<Engine | string> {
  const lacking = await lackingPackages(['docker.io', 'debootstrap'], ['docker', 'dockerd', 'debootstrap', 'setpriv']);
  if (lacking !== null) return lacking;
  const daemons = await Daemons.make('docker');
  const socket = `unix://${daemons.at('docker.sock')}`;
  const folders = ['--data-root', daemons.at('data'), '--exec-root', daemons.at('exec'), '--pidfile', daemons.at('docker.pid')];
  daemons.start('dockerd', 'dockerd', ['--iptables=false', '--ip6tables=false', '--bridge=none', ...folders, '-H', socket]);
  const docker: Engine['docker'] = async (...args) => {
    try {
      return {
        code: 0,
        ...(await run('docker', ['-H', socket, ...args], {
          timeout: COMMAND_MS,
          maxBuffer: 64 * 1024 * 1024,
          env: { ...process.env, DOCKER_BUILDKIT: '0' },
        })),
      };
    } catch (error) {
      const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
      return { code: typeof code === 'number' ? code : -1, stdout, stderr };
    }
  };
  for (let left = 150; (await docker('version')).code !== 0; left--) {
    if (left === 0) {
      const said = (await readFile(daemons.at('dockerd.out'), 'utf8')).slice(-2_000);
      await daemons.end();
      return `dockerd does not start: ${said}`;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const end = async (): Promise<void> => {
    await daemons.kill('dockerd', 'SIGTERM');
    // The engine leaves the host's network namespace mounted there.
    await run('umount', [daemons.at('exec/netns/default')]).catch(() => undefined);
    await daemons.end();
  };
  return { docker, end };
}

/** The base image that the Dockerfile names: downloaded, or built from Debian and this machine's Node and npm. */
export async function ensureBaseImage(engine: Engine, name: string): Promise<void> {
  if ((await engine.docker('pull', '-q', name)).code === 0) return;
  const daemons = await Daemons.make('base-image');
  const root = daemons.at('root');
  try {
    await run('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', root], {
      timeout: COMMAND_MS,
      maxBuffer: 64 * 1024 * 1024,
    });
    // Slim images have no packages, no package lists and no documentation.
    for (const name of ['var/cache/apt', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/man', 'usr/share/locale'])
      await rm(`${root}/${name}`, { recursive: true, force: true });
    await cp(process.execPath, `${root}/usr/local/bin/node`);
    const npm = await realpath((await run('which', ['npm'])).stdout.trim());
    await mkdir(`${root}/usr/local/lib/node_modules`, { recursive: true });
    await cp(dirname(dirname(npm)), `${root}/usr/local/lib/node_modules/npm`, { recursive: true, dereference: true });
    await symlink('../lib/node_modules/npm/bin/npm-cli.js', `${root}/usr/local/bin/npm`);
    await appendFile(`${root}/etc/passwd`, 'node:x:1000:1000::/home/node:/bin/bash\n');
    await appendFile(`${root}/etc/group`, 'node:x:1000:\n');
    await mkdir(`${root}/home/node`);
    const certificates = process.env['NODE_EXTRA_CA_CERTS'];
    if (certificates !== undefined) await writeFile(`${root}/etc/ssl/certs/extra.crt`, await readFile(certificates));
    await run('tar', ['-C', root, '-cf', daemons.at('root.tar'), '.'], { timeout: COMMAND_MS });
    const settings = certificates === undefined ? [] : ['--change', 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/extra.crt'];
    const imported = await engine.docker('import', ...settings, daemons.at('root.tar'), name);
    if (imported.code !== 0) throw new Error(imported.stderr);
  } finally {
    await daemons.end();
  }
}
