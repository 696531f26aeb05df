/** Which proxy the environment names for an address. Pure, for every platform. */
import type { BaseUrl } from './base-url.ts';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The proxy variable that stands for this address, or null. NO_PROXY is left to undici. Loopback is never proxied:
 * the embedded service must be reachable wherever it runs.
 */
export function proxyFor({ protocol, hostname }: Pick<BaseUrl, 'protocol' | 'hostname'>, env: Env): string | null {
  if (isLoopback(hostname)) return null;
  return ownProxy(protocol, env) || env['all_proxy'] || env['ALL_PROXY'] || null;
}

/** The variable of the scheme alone; '' for none. */
export function ownProxy(protocol: BaseUrl['protocol'], env: Env): string {
  const name = protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  return env[name] || env[name.toUpperCase()] || '';
}

/** A parsed address has IPv4 in four numbers. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '::1' || /^127(?:\.\d+){3}$/.test(hostname);
}
