/** The DNS resolver of the verifier: UDP and TCP, several servers, and absences that are confirmed. */
import { getServers, Resolver as PlatformResolver } from 'node:dns';
import { UsageError } from '../../util/errors.ts';
import { confirmAbsence } from './absence.ts';
import { exchange, plainName, type Question } from './exchange.ts';
import { Semaphore } from './semaphore.ts';
import { readDnsAnswer, type Reading } from './parse-answer.ts';

export interface MxRecord {
  readonly preference: number;
  /** Lower case, without the root's dot. Empty for the root, which marks a null MX. */
  readonly host: string;
  readonly ttlS: number;
}

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
  readonly ttlS: number;
}

/**
 * `no_name`: the name does not exist (NXDOMAIN). `no_data`: the name exists without such records. `ttlS`: how long to cache either,
 * null when the answer does not say. `failed`: not known (SERVFAIL, timeout, refused).
 */
export type Lookup<T> =
  | { readonly kind: 'found'; readonly records: readonly T[] }
  | { readonly kind: 'no_name' | 'no_data'; readonly ttlS: number | null }
  | { readonly kind: 'failed'; readonly detail: string };

/** Never rejects: a failure is a result. A lookup must end within seconds. */
export interface Resolver {
  mx(domain: string): Promise<Lookup<MxRecord>>;
  addresses(host: string): Promise<Lookup<HostAddress>>;
}

/**
 * The concurrency and the timeout of each queue. A question that times out is asked once more in the slow queue, so that silent servers
 * do not hold up other questions.
 */
export const DNS_QUEUES = { fast: { atOnce: 128, timeoutMs: 2_000 }, slow: { atOnce: 64, timeoutMs: 5_000 } } as const;

interface QueueLimits {
  readonly atOnce: number;
  readonly timeoutMs: number;
}

/** @param servers `HOST:PORT` or addresses; null for those of this machine. @throws UsageError for an invalid server. */
export function dnsResolver(
  servers: readonly string[] | null,
  queues: { readonly fast: QueueLimits; readonly slow: QueueLimits } = DNS_QUEUES,
): Resolver {
  const addresses = servers === null ? getServers() : checkedServers(servers);
  const inOrder = [queues.fast, queues.slow].map(({ atOnce, timeoutMs }) => ({ queue: new Semaphore(atOnce), timeoutMs }));
  const ask = async (question: Question): Promise<Reading> => {
    let settled: Reading = { kind: 'failed', detail: 'ETIMEOUT' };
    for (const { queue, timeoutMs } of inOrder) {
      settled = await queue.run(() => askServers(addresses, question, timeoutMs));
      if (settled.kind !== 'failed' || settled.detail !== 'ETIMEOUT') break;
    }
    return settled;
  };
  return {
    async mx(domain) {
      const settled = await ask({ name: domain, type: 'MX' });
      return lookup(settled, (record) =>
        record.type === 'MX'
          ? { preference: record.data.preference ?? 0, host: plainName(record.data.exchange), ttlS: record.ttl ?? 0 }
          : null,
      );
    },
    async addresses(host) {
      const [four, six] = await Promise.all([ask({ name: host, type: 'A' }), ask({ name: host, type: 'AAAA' })]);
      return bothFamilies(
        lookup(four, (record): HostAddress | null =>
          record.type === 'A' ? { address: record.data, family: 4, ttlS: record.ttl ?? 0 } : null,
        ),
        lookup(six, (record): HostAddress | null =>
          record.type === 'AAAA' ? { address: record.data, family: 6, ttlS: record.ttl ?? 0 } : null,
        ),
      );
    },
  };
}

/** Addresses of one family outrank a failure of the other, and a failure outranks an absence. IPv4 first: more mail servers trust it. */
export function bothFamilies(four: Lookup<HostAddress>, six: Lookup<HostAddress>): Lookup<HostAddress> {
  const records = [four, six].flatMap((found) => (found.kind === 'found' ? found.records : []));
  if (records.length > 0) return { kind: 'found', records };
  if (four.kind === 'failed') return four;
  if (six.kind === 'failed') return six;
  if (four.kind === 'no_name' && six.kind === 'no_name') return four;
  return four.kind === 'no_data' ? four : six;
}

/** Asks one server after the other until one answers without an error of its own. */
async function askServers(servers: readonly string[], question: Question, timeoutMs: number): Promise<Reading> {
  let failed: Reading = { kind: 'failed', detail: servers.length === 0 ? 'no DNS server is configured' : 'ETIMEOUT' };
  for (const server of servers) {
    const settled = await askServer(server, question, timeoutMs);
    if (settled.kind !== 'failed') return settled;
    // An answer of one server outranks a timeout of another.
    if (failed.detail === 'ETIMEOUT' || settled.detail !== 'ETIMEOUT') failed = settled;
  }
  return failed;
}

async function askServer(server: string, question: Question, timeoutMs: number): Promise<Reading> {
  const answer = await exchange(server, question, timeoutMs);
  if ('failure' in answer) return { kind: 'failed', detail: answer.failure };
  const reading = readDnsAnswer(answer, question);
  if (reading.kind !== 'no_name' && reading.kind !== 'no_data') return reading;
  const absence = await confirmAbsence(reading, question.name, (zone) => exchange(server, { name: zone, type: 'SOA' }, timeoutMs));
  if (absence === 'absent') return reading;
  return { kind: 'failed', detail: absence === 'silent' ? 'ETIMEOUT' : absence.why };
}

type FoundRecord = Extract<Reading, { kind: 'found' }>['records'][number];

function lookup<T>(settled: Reading, read: (record: FoundRecord) => T | null): Lookup<T> {
  if (settled.kind === 'failed') return settled;
  if (settled.kind !== 'found') return { kind: settled.kind, ttlS: settled.proof.by === 'soa' ? settled.proof.ttlS : null };
  return { kind: 'found', records: settled.records.map(read).filter((record) => record !== null) };
}

/** Validates with the platform's resolver, which asks nothing here. */
function checkedServers(servers: readonly string[]): readonly string[] {
  try {
    const platform = new PlatformResolver();
    platform.setServers(servers);
    return platform.getServers();
  } catch (error) {
    throw new UsageError(
      'bad_dns_server',
      `a DNS server must be an IP address with or without a port, got ${servers.join(', ').slice(0, 100)}`,
      {
        hint: 'Such as 127.0.0.1:5353 or [::1]:5353.',
        cause: error,
      },
    );
  }
}
