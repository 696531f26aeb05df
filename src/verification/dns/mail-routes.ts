/** Finds the mail hosts of a domain (RFC 5321 5.1, RFC 7505). Results are cached for their TTL, and concurrent callers share one lookup. */
import { isIP } from 'node:net';
import { isHostName } from '../domain.ts';
import { CoalescingCache, type CachedValue } from './coalescing-cache.ts';
import { isPublicAddress } from './public-address.ts';
import type { HostAddress, Lookup, MxRecord, Resolver } from './resolver.ts';

export interface MailHost {
  readonly name: string;
  readonly preference: number;
  /** At least one. */
  readonly addresses: readonly HostAddress[];
}

/**
 * `hosts`: at least one host with an address, most preferred first; `partial`: the lookup of another host failed.
 * `null_mx`: the domain declares that it takes no mail. `no_domain`: the domain does not exist. `no_mail_host`: the domain exists without
 * a usable mail host. `failed`: DNS gave no certain answer.
 */
export type MailRoute =
  | {
      readonly kind: 'hosts';
      readonly implicit: boolean;
      readonly partial: boolean;
      readonly records: readonly MxRecord[];
      readonly hosts: readonly MailHost[];
    }
  | { readonly kind: 'null_mx'; readonly ttlS: number }
  | { readonly kind: 'no_domain'; readonly ttlS: number | null }
  | { readonly kind: 'no_mail_host'; readonly records: readonly MxRecord[]; readonly detail: string }
  | { readonly kind: 'failed'; readonly detail: string };

interface MailRouteOptions {
  readonly resolver: Resolver;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
  /** Also accept addresses of this machine and of private networks, for a test bed. */
  readonly privateAddresses: boolean;
}

const MAX_ROUTES = 50_000;
/** More hosts than this are not looked up: no real domain needs them, and an attacker could use them. */
const MAX_HOSTS = 10;
const MINUTE_MS = 60_000;
/** The TTL of the records is bounded by these. */
const LEAST_MS = MINUTE_MS;
const MOST_MS = 60 * MINUTE_MS;
/** The TTL of an absence without a SOA record (RFC 2308 5). */
const ABSENT_MS = 5 * MINUTE_MS;
const FAILED_MS = 5_000;

export class MailRoutes {
  readonly #options: MailRouteOptions;
  readonly #routes: CoalescingCache<MailRoute>;
  readonly #addresses: CoalescingCache<Lookup<HostAddress>>;

  constructor(options: MailRouteOptions) {
    this.#options = options;
    this.#routes = new CoalescingCache(options.clock, MAX_ROUTES);
    this.#addresses = new CoalescingCache(options.clock, MAX_ROUTES);
  }

  /** @param domain ASCII, lower case. Never rejects. */
  find(domain: string): Promise<MailRoute> {
    return this.#routes.get(domain, async () => {
      const route = await this.#look(domain);
      return { value: route, forMs: holdsForMs(route) };
    });
  }

  async #look(domain: string): Promise<MailRoute> {
    const found = await this.#options.resolver.mx(domain);
    switch (found.kind) {
      case 'found':
        return this.#byRecords(found.records);
      case 'no_data': {
        // RFC 5321 5.1: without MX records the domain itself is its mail host.
        const hosts = await this.#hosts([{ preference: 0, host: domain, ttlS: found.ttlS ?? MOST_MS / 1000 }]);
        return hosts.kind === 'hosts'
          ? { ...hosts, implicit: true, records: [] }
          : hosts.kind === 'no_mail_host'
            ? { ...hosts, records: [] }
            : hosts;
      }
      case 'no_name':
        return { kind: 'no_domain', ttlS: found.ttlS };
      case 'failed':
        return found;
      default:
        return found satisfies never;
    }
  }

  #byRecords(given: readonly MxRecord[]): Promise<MailRoute> | MailRoute {
    const records = [...given].sort((a, b) => a.preference - b.preference || (a.host < b.host ? -1 : 1));
    // RFC 7505 3: a null MX stands alone; beside other records it means nothing.
    if (records.length === 1 && records[0]?.host === '') return { kind: 'null_mx', ttlS: records[0].ttlS };
    return this.#hosts(records);
  }

  async #hosts(records: readonly MxRecord[]): Promise<MailRoute> {
    // RFC 5321 5.1 requires names, not addresses. A host that is named twice is tried once.
    const names = new Map<string, MxRecord>();
    for (const record of records) if (isMailHost(record.host) && !names.has(record.host)) names.set(record.host, record);
    const tried = [...names.values()].slice(0, MAX_HOSTS);
    const looked = await Promise.all(tried.map(async (record) => ({ record, found: await this.#hostAddresses(record.host) })));
    const hosts: MailHost[] = [];
    let hasPrivate = false;
    for (const { record, found } of looked) {
      if (found.kind !== 'found') continue;
      const addresses = found.records.filter(({ address }) => this.#options.privateAddresses || isPublicAddress(address));
      if (addresses.length > 0) hosts.push({ name: record.host, preference: record.preference, addresses });
      else hasPrivate = true;
    }
    const failed = looked.map(({ found }) => found).find((found) => found.kind === 'failed');
    if (hosts.length > 0) return { kind: 'hosts', implicit: false, partial: failed !== undefined, records, hosts };
    if (hasPrivate) return { kind: 'failed', detail: 'the mail hosts have no public address' };
    if (failed !== undefined) return failed;
    if (names.size > tried.length) return { kind: 'failed', detail: `none of the first ${MAX_HOSTS} mail hosts has an address` };
    // RFC 1035 3.3.9 requires a name. Some servers deliver to an address all the same, so the mail may arrive.
    const address = records.find(({ host }) => isIP(host) !== 0);
    if (address !== undefined) return { kind: 'failed', detail: `the MX record names an address (${address.host}) where a host belongs` };
    return {
      kind: 'no_mail_host',
      records,
      detail: records.length === 0 || tried.length === 0 ? 'no usable mail host' : 'no mail host has an address',
    };
  }

  #hostAddresses(host: string): Promise<Lookup<HostAddress>> {
    return this.#addresses.get(host, async (): Promise<CachedValue<Lookup<HostAddress>>> => {
      const found = await this.#options.resolver.addresses(host);
      return {
        value: found,
        forMs: found.kind === 'found' ? bounded(found.records) : found.kind === 'failed' ? FAILED_MS : absentForMs(found.ttlS),
      };
    });
  }
}

/** RFC 5321 requires host names without underscores, but DNS allows them, and providers use names such as `_dc-mx.0a1b.acme.example`. */
function isMailHost(name: string): boolean {
  return isHostName(name.replaceAll('_', 'x'));
}

function holdsForMs(route: MailRoute): number {
  switch (route.kind) {
    case 'hosts':
      // The preferred host may be one whose lookup failed this time.
      return route.partial ? FAILED_MS : bounded([...route.records, ...route.hosts.flatMap(({ addresses }) => addresses)]);
    case 'null_mx':
      return bounded([route]);
    case 'no_domain':
      return absentForMs(route.ttlS);
    case 'no_mail_host':
      return ABSENT_MS;
    case 'failed':
      return FAILED_MS;
    default:
      return route satisfies never;
  }
}

function bounded(records: readonly { readonly ttlS: number }[]): number {
  const least = Math.min(...records.map(({ ttlS }) => ttlS * 1000));
  return Math.min(MOST_MS, Math.max(LEAST_MS, least));
}

function absentForMs(ttlS: number | null): number {
  return ttlS === null ? ABSENT_MS : bounded([{ ttlS }]);
}
