/** The platform's `fetch`, through the proxy of the environment where the platform can be told to use it. */
import { ConfigError } from '../../util/errors.ts';
import type { BaseUrl } from '../base-url.ts';
import { ownProxy, proxyFor } from '../proxy-for.ts';
import type { FetchSource } from './fetch-wire.ts';

/** The option that Node's fetch has beside those of the standard. */
interface Dispatcher {
  destroy(): Promise<void>;
}

/** Where undici, the fetch of Node, has the dispatcher that is used without another (its `lib/global.js`). */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

const HINT = '; the proxy of the environment is not used before Node 24.14: pass a fetch of your own';

/** @throws ConfigError `bad_proxy` when a proxy variable that applies is no URL */
export function environmentFetch(base: BaseUrl): FetchSource {
  const { process } = globalThis as { readonly process?: NodeJS.Process };
  const env = process?.env ?? {};
  // Bound to the platform's global, as some demand.
  const plain: FetchSource = { fetch: (...request) => fetch(...request) };
  const proxy = proxyFor(base, env);
  if (proxy === null) return plain;
  const dispatcher = dispatcherFor(proxy, env['no_proxy'] || env['NO_PROXY'] || '');
  if (dispatcher !== null) {
    // The types of the standard know no dispatcher.
    return { ...plain, fetch: (url, init) => fetch(url, { ...init, dispatcher } as RequestInit), release: () => dispatcher.destroy() };
  }
  const isUsed = env['NODE_USE_ENV_PROXY'] === '1' && ownProxy(base.protocol, env) !== '';
  return isUsed ? plain : { ...plain, networkHint: HINT };
}

/** Node makes one only as the global one: it is taken, and what was there before is restored at once. Null for a platform without. */
function dispatcherFor(proxy: string, noProxy: string): Dispatcher | null {
  const { process } = globalThis as { readonly process?: NodeJS.Process };
  const set = process?.getBuiltinModule?.('node:http')?.setGlobalProxyFromEnv;
  if (set === undefined) return null;
  const globals = globalThis as { readonly [GLOBAL_DISPATCHER]?: Dispatcher };
  const before = globals[GLOBAL_DISPATCHER];
  let restore;
  try {
    restore = set({ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: noProxy });
  } catch {
    // The value may hold a password.
    throw new ConfigError('bad_proxy', 'the proxy of the environment is no address such as http://proxy.example.com:3128');
  }
  const made = globals[GLOBAL_DISPATCHER];
  restore();
  return made === undefined || made === before ? null : made;
}
