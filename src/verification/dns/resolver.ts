/** What the verifier asks of DNS, and the answer by way of the platform's resolver. */
import { Resolver as PlatformResolver } from 'node:dns/promises';
import { UsageError } from '../../errors.ts';
import { confirmAbsence } from './absence.ts';
import { Lane } from './lane.ts';
import { TYPE } from './message.ts';

export interface MxRecord {
  readonly preference: number;
  /** Lower case, without the root's dot; empty for the root itself, which is how a null MX is written. */
  readonly host: string;
}

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
  readonly ttlS: number;
}

/** `no_name`: the name does not exist (NXDOMAIN). `no_data`: it does, without such records. `failed`: nobody knows (SERVFAIL, timeout, refused). */
export type Lookup<T> =
  | { readonly kind: 'found'; readonly records: readonly T[] }
  | { readonly kind: 'no_name' }
  | { readonly kind: 'no_data' }
  | { readonly kind: 'failed'; readonly detail: string };

/** Never rejects: trouble is an answer. A lookup must end by itself within seconds. */
export interface Resolver {
  mx(domain: string): Promise<Lookup<MxRecord>>;
  addresses(host: string): Promise<Lookup<HostAddress>>;
}

/**
 * Questions go out by UDP, and what does not fit the receiver's buffer is lost without a word: by default Linux keeps fewer than 300. So few are asked at once,
 * and who has no answer in time is asked once more, among the slow, where a silent server keeps nobody else waiting.
 */
export const LANES = { fast: { atOnce: 128, timeoutMs: 2_000 }, slow: { atOnce: 64, timeoutMs: 5_000 } } as const;

interface LaneSize {
  readonly atOnce: number;
  readonly timeoutMs: number;
}

/**
 * The platform's resolver, which falls back to TCP and asks the next server by itself; what it calls absent is looked at again, because it says so of errors too.
 * @param servers `HOST:PORT` or addresses; null: those of this machine. @param lanes how many at once, and how long for each. @throws UsageError for a server that is none.
 */
export function platformResolver(servers: readonly string[] | null, lanes: { readonly fast: LaneSize; readonly slow: LaneSize } = LANES): Resolver {
  const [fast, slow] = [openLane(servers, lanes.fast), openLane(servers, lanes.slow)];
  const ask = async <T>(question: Question<T>): Promise<Lookup<T>> => {
    const first = await fast.lane.run(() => lookup(() => question(fast.dns)));
    return first.kind === 'failed' && first.detail === 'ETIMEOUT' ? slow.lane.run(() => lookup(() => question(slow.dns))) : first;
  };
  const confirm = async <T>(found: Lookup<T>, name: string, type: number): Promise<Lookup<T>> => {
    if (found.kind !== 'no_data' && found.kind !== 'no_name') return found;
    for (const { lane, dns, timeoutMs } of [fast, slow]) {
      const absence = await lane.run(() => confirmAbsence(found.kind, dns.getServers(), name, type, timeoutMs));
      if (absence === 'absent') return found;
      if (absence !== 'silent') return { kind: 'failed', detail: absence.why };
    }
    return { kind: 'failed', detail: 'ETIMEOUT' };
  };
  return {
    async mx(domain) {
      const found = await ask(async (dns) => (await dns.resolveMx(domain)).map(({ priority, exchange }) => ({ preference: priority, host: hostName(exchange) })));
      return confirm(found, domain, TYPE.mx);
    },
    async addresses(host) {
      const [four, six] = await Promise.all([
        ask(async (dns) => (await dns.resolve4(host, { ttl: true })).map(({ address, ttl }): HostAddress => ({ address, family: 4, ttlS: ttl }))),
        ask(async (dns) => (await dns.resolve6(host, { ttl: true })).map(({ address, ttl }): HostAddress => ({ address, family: 6, ttlS: ttl }))),
      ]);
      const found = bothFamilies(four, six);
      // Most hosts have no IPv6: only where there is nothing at all does it matter why.
      return found.kind === 'no_data' || found.kind === 'no_name' ? bothFamilies(await confirm(four, host, TYPE.a), await confirm(six, host, TYPE.aaaa)) : found;
    },
  };
}

type Question<T> = (dns: PlatformResolver) => Promise<readonly T[]>;

function openLane(servers: readonly string[] | null, { atOnce, timeoutMs }: LaneSize): { readonly dns: PlatformResolver; readonly lane: Lane; readonly timeoutMs: number } {
  const dns = new PlatformResolver({ timeout: timeoutMs, tries: 1 });
  try {
    if (servers !== null) dns.setServers(servers);
    return { dns, lane: new Lane(atOnce), timeoutMs };
  } catch (error) {
    throw new UsageError('bad_dns_server', `a DNS server must be an IP address with or without a port, got ${(servers ?? []).join(', ').slice(0, 100)}`, {
      hint: 'Such as 127.0.0.1:5353 or [::1]:5353.',
      cause: error,
    });
  }
}

/** One family that is there outweighs trouble with the other; trouble outweighs absence. IPv4 first: more mail servers trust it. */
export function bothFamilies(four: Lookup<HostAddress>, six: Lookup<HostAddress>): Lookup<HostAddress> {
  const records = [four, six].flatMap((found) => (found.kind === 'found' ? found.records : []));
  if (records.length > 0) return { kind: 'found', records };
  if (four.kind === 'failed') return four;
  if (six.kind === 'failed') return six;
  return four.kind === 'no_name' && six.kind === 'no_name' ? four : { kind: 'no_data' };
}

async function lookup<T>(ask: () => Promise<readonly T[]>): Promise<Lookup<T>> {
  try {
    const records = await ask();
    return records.length === 0 ? { kind: 'no_data' } : { kind: 'found', records };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTFOUND') return { kind: 'no_name' };
    if (code === 'ENODATA') return { kind: 'no_data' };
    return { kind: 'failed', detail: code ?? 'EUNKNOWN' };
  }
}

function hostName(exchange: string): string {
  return exchange.toLowerCase().replace(/\.$/, '');
}
