/**
 * A run lives long and makes much short-lived garbage. Node's young generation grows to 128 MiB and more for that, which is most of a run's
 * memory and makes it no faster; 16 MiB semi-spaces do (`bench/README.md`). The size can only be given when Node starts, so the process
 * replaces itself (same pid, same files) before anything else is loaded.
 */

const FLAG = '--max-semi-space-size';
const SEMI_SPACE_MIB = 16;

/** Commands that live long enough to matter. */
const LONG_LIVED = ['run', 'retry', 'serve', 'import'];

/**
 * A full garbage collection takes the service's core for 40 ms, and requests wait. With room for three times the live heap it comes less
 * often.
 */
const ROOM_TO_GROW = '--heap-growing-percent=200';

/**
 * V8 allocates objects of a kind that lives long in the old generation (pretenuring). It takes requests in flight for such a kind. Each
 * collection then copies their garbage: up to a fifth of a lookup's time (`bench/README.md`).
 */
const NEW_OBJECTS_ARE_YOUNG = '--no-allocation-site-pretenuring';

/** These flags were tried with this Node. Another one might refuse to start with them. */
const TRIED_WITH = '24.';

/** The arguments for a new start of Node; null when it is not needed or not possible. */
export function restartArguments(process: Pick<NodeJS.Process, 'argv' | 'execArgv' | 'env' | 'platform' | 'versions'>): string[] | null {
  const { argv, execArgv, env, platform, versions } = process;
  const chosen = execArgv.some((flag) => flag.startsWith(FLAG)) || (env['NODE_OPTIONS'] || '').includes(FLAG);
  if (chosen || platform === 'win32' || !LONG_LIVED.includes(argv[2] || '')) return null;
  // Node keeps only the first three descriptors: an inherited socket would be closed.
  if (env['LISTEN_FDS'] !== undefined || env['MILLRACE_SOCKET_FD'] !== undefined) return null;
  // A profiler or debugger has already opened its files and ports.
  if (execArgv.some((flag) => flag.startsWith('--inspect') || flag.startsWith('--cpu-prof') || flag.startsWith('--heap-prof'))) return null;
  const more = versions.node.startsWith(TRIED_WITH) ? flagsOf(argv[2]) : [];
  return [argv[0] || '', `${FLAG}=${SEMI_SPACE_MIB}`, ...more, ...execArgv, ...argv.slice(1)];
}

function flagsOf(command: string | undefined): readonly string[] {
  return command === 'serve' ? [ROOM_TO_GROW, NEW_OBJECTS_ARE_YOUNG] : [NEW_OBJECTS_ARE_YOUNG];
}
