/** Opens the way to the service: a pool of sockets, or the proxy that the environment asks for. The one place that sets up undici. */
import { buildConnector, EnvHttpProxyAgent, Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { ConfigError } from '../util/errors.ts';
import type { BaseUrl } from './base-url.ts';
import { ownProxy, proxyFor } from './proxy-for.ts';
import { skippingContinue } from './skip-continue.ts';

/**
 * An idle socket is given up before most servers and balancers would close it (Node's own: 5 s), so that hardly a request meets a closing
 * socket. A server's `Keep-Alive: timeout` hint is followed, less a second, up to a minute.
 */
const KEEP_ALIVE_MS = 4_000;
const KEEP_ALIVE_HINT_MAX_MS = 60_000;

/** Certificates and keys as PEM. */
export interface TlsFiles {
  /** Authorities that are trusted instead of Node's own; null: Node's own. */
  readonly ca: Buffer | null;
  /** The certificate that this client shows, and its key. Without them it shows none. */
  readonly cert: Buffer | null;
  readonly key: Buffer | null;
}

interface DispatcherSettings {
  /** Null: as many as calls need. */
  readonly connections: number | null;
  /** TCP and TLS together; also a proxy's answer to being asked for a tunnel. */
  readonly connectTimeoutMs: number;
  /** Null or absent: the certificates of Node. */
  readonly tls?: TlsFiles | null;
}

/** @throws ConfigError `bad_proxy` when a proxy variable that applies is no URL. */
export function openDispatcher(base: BaseUrl, settings: DispatcherSettings, env: NodeJS.ProcessEnv): Dispatcher {
  const options: Pool.Options = {
    connections: settings.connections,
    pipelining: 1,
    // HTTP/1.1 only: for one small answer a call HTTP/2 costs several times as much.
    allowH2: false,
    // The time limits of an answer are those of its exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: settings.connectTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_HINT_MAX_MS,
  };
  const proxy = proxyFor(base, env);
  const { ca = null, cert = null, key = null } = settings.tls ?? {};
  const tls = { ...(ca === null ? {} : { ca }), ...(cert === null ? {} : { cert }), ...(key === null ? {} : { key }) };
  const direct = buildConnector({ ...tls, timeout: settings.connectTimeoutMs, allowH2: false });
  // undici hands its own options to some of the pools it makes for a proxy, and none of the timeouts to others.
  const factory = (origin: URL | string, own: object): Pool => {
    const { connect } = own as { readonly connect?: unknown };
    // A function is the way through the proxy.
    const connector = typeof connect === 'function' ? (connect as buildConnector.connector) : direct;
    return new Pool(origin, { ...options, ...own, connect: skippingContinue(connector) });
  };
  if (proxy === null) return factory(base.origin, {});
  try {
    return new EnvHttpProxyAgent({
      ...options,
      // They belong to the service behind the tunnel, not to the proxy.
      requestTls: { ...tls, timeout: settings.connectTimeoutMs },
      factory,
      // Without this, a proxy that accepts and then says nothing is waited for for five minutes.
      clientFactory: (origin, own) => new Pool(origin, { ...options, headersTimeout: settings.connectTimeoutMs, ...own }),
      noProxy: env['no_proxy'] || env['NO_PROXY'] || '',
      ...(base.protocol === 'https:' ? { httpsProxy: proxy, httpProxy: '' } : { httpProxy: proxy, httpsProxy: '' }),
    });
  } catch (error) {
    // The value may hold a password: only the variable is named.
    const own = base.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
    const name = ownProxy(base.protocol, env) === '' ? 'ALL_PROXY' : own;
    throw new ConfigError('bad_proxy', `${name} cannot be used: ${(error as NodeJS.ErrnoException).code ?? 'not a proxy address'}`, {
      hint: 'Expected an address such as http://proxy.example.com:3128.',
    });
  }
}
