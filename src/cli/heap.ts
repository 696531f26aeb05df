/**
 * A run lives long and makes much short-lived garbage. Node's young generation grows to 128 MiB and more for that, which
 * is most of a run's memory and makes it no faster; 16 MiB semi-spaces do (`bench/README.md`). The size can only be given
 * when Node starts, so the process replaces itself (same pid, same files) before anything else is loaded.
 */

const FLAG = '--max-semi-space-size';
const SEMI_SPACE_MIB = 16;

/** Commands that live long enough to matter. */
const LONG_LIVED = ['run', 'retry', 'serve', 'import'];

/**
 * A full collection takes the service's core for 40 ms, by threads of its own that need it too, and whoever asks then waits. With room for three times what is
 * in use it comes less often. Known of this Node; another one might refuse to start with it.
 */
const ROOM_TO_GROW = '--heap-growing-percent=200';
const KNOWN_OF = '24.';

/** The arguments to start Node with again; null when it is not wanted, not needed or not possible. */
export function restartArguments(process: Pick<NodeJS.Process, 'argv' | 'execArgv' | 'env' | 'platform' | 'versions'>): string[] | null {
  const { argv, execArgv, env, platform, versions } = process;
  const chosen = execArgv.some((flag) => flag.startsWith(FLAG)) || (env['NODE_OPTIONS'] || '').includes(FLAG);
  if (chosen || platform === 'win32' || !LONG_LIVED.includes(argv[2] || '')) return null;
  // Node keeps no descriptor but the first three: a socket that was passed on would be closed.
  if (env['LISTEN_FDS'] !== undefined || env['MILLRACE_SOCKET_FD'] !== undefined) return null;
  // A profiler or debugger has opened its files and ports already.
  if (execArgv.some((flag) => flag.startsWith('--inspect') || flag.startsWith('--cpu-prof') || flag.startsWith('--heap-prof'))) return null;
  const room = argv[2] === 'serve' && versions.node.startsWith(KNOWN_OF) ? [ROOM_TO_GROW] : [];
  return [argv[0] || '', `${FLAG}=${SEMI_SPACE_MIB}`, ...room, ...execArgv, ...argv.slice(1)];
}
