/** What the verifier asks of DNS, and the client that asks it: UDP and TCP, several servers, absences that are confirmed. */
import { getServers, Resolver as PlatformResolver } from 'node:dns';
import { UsageError } from '../../errors.ts';
import { confirmAbsence } from './absence.ts';
import { exchange, plainName, type Question } from './exchange.ts';
import { Lane } from './lane.ts';
import { readAnswer, type Reading } from './reading.ts';

export interface MxRecord {
  readonly preference: number;
  /** Lower case, without the root's dot; empty for the root itself, which is how a null MX is written. */
  readonly host: string;
  readonly ttlS: number;
}

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
  readonly ttlS: number;
}

/**
 * `no_name`: the name does not exist (NXDOMAIN). `no_data`: it does, without such records. Both hold for `ttlS` seconds where the answer says so.
 * `failed`: nobody knows (SERVFAIL, timeout, refused).
 */
export type Lookup<T> =
  | { readonly kind: 'found'; readonly records: readonly T[] }
  | { readonly kind: 'no_name' | 'no_data'; readonly ttlS: number | null }
  | { readonly kind: 'failed'; readonly detail: string };

/** Never rejects: trouble is an answer. A lookup must end by itself within seconds. */
export interface Resolver {
  mx(domain: string): Promise<Lookup<MxRecord>>;
  addresses(host: string): Promise<Lookup<HostAddress>>;
}

/**
 * How many questions are out at once, and how long for each. A question without an answer in time is asked once more among the slow, where a
 * silent server holds up nobody else.
 */
export const LANES = { fast: { atOnce: 128, timeoutMs: 2_000 }, slow: { atOnce: 64, timeoutMs: 5_000 } } as const;

interface LaneSize {
  readonly atOnce: number;
  readonly timeoutMs: number;
}

/** @param servers `HOST:PORT` or addresses; null: those of this machine. @throws UsageError for a server that is none. */
export function dnsResolver(servers: readonly string[] | null, lanes: { readonly fast: LaneSize; readonly slow: LaneSize } = LANES): Resolver {
  const places = servers === null ? getServers() : checkedServers(servers);
  const turns = [lanes.fast, lanes.slow].map(({ atOnce, timeoutMs }) => ({ lane: new Lane(atOnce), timeoutMs }));
  const ask = async (question: Question): Promise<Reading> => {
    let settled: Reading = { kind: 'failed', detail: 'ETIMEOUT' };
    for (const { lane, timeoutMs } of turns) {
      settled = await lane.run(() => askServers(places, question, timeoutMs));
      if (settled.kind !== 'failed' || settled.detail !== 'ETIMEOUT') break;
    }
    return settled;
  };
  return {
    async mx(domain) {
      const settled = await ask({ name: domain, type: 'MX' });
      return lookup(settled, (record) => (record.type === 'MX' ? { preference: record.data.preference ?? 0, host: plainName(record.data.exchange), ttlS: record.ttl ?? 0 } : null));
    },
    async addresses(host) {
      const [four, six] = await Promise.all([ask({ name: host, type: 'A' }), ask({ name: host, type: 'AAAA' })]);
      return bothFamilies(
        lookup(four, (record): HostAddress | null => (record.type === 'A' ? { address: record.data, family: 4, ttlS: record.ttl ?? 0 } : null)),
        lookup(six, (record): HostAddress | null => (record.type === 'AAAA' ? { address: record.data, family: 6, ttlS: record.ttl ?? 0 } : null)),
      );
    },
  };
}

/** One family that is there outweighs trouble with the other; trouble outweighs absence. IPv4 first: more mail servers trust it. */
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
    // What a server said outranks that another one said nothing.
    if (failed.detail === 'ETIMEOUT' || settled.detail !== 'ETIMEOUT') failed = settled;
  }
  return failed;
}

async function askServer(server: string, question: Question, timeoutMs: number): Promise<Reading> {
  const answer = await exchange(server, question, timeoutMs);
  if ('failure' in answer) return { kind: 'failed', detail: answer.failure };
  const reading = readAnswer(answer, question);
  if (reading.kind !== 'no_name' && reading.kind !== 'no_data') return reading;
  const absence = await confirmAbsence(reading, question.name, (zone) => exchange(server, { name: zone, type: 'SOA' }, timeoutMs));
  if (absence === 'absent') return reading;
  return { kind: 'failed', detail: absence === 'silent' ? 'ETIMEOUT' : absence.why };
}

type FoundRecord = Extract<Reading, { kind: 'found' }>['records'][number];

function lookup<T>(settled: Reading, read: (record: FoundRecord) => T | null): Lookup<T> {
  if (settled.kind === 'failed') return settled;
  if (settled.kind !== 'found') return { kind: settled.kind, ttlS: settled.vouched.by === 'soa' ? settled.vouched.ttlS : null };
  return { kind: 'found', records: settled.records.map(read).filter((record) => record !== null) };
}

/** The platform knows the forms of an address; it asks nothing here. */
function checkedServers(servers: readonly string[]): readonly string[] {
  try {
    const platform = new PlatformResolver();
    platform.setServers(servers);
    return platform.getServers();
  } catch (error) {
    throw new UsageError('bad_dns_server', `a DNS server must be an IP address with or without a port, got ${servers.join(', ').slice(0, 100)}`, {
      hint: 'Such as 127.0.0.1:5353 or [::1]:5353.',
      cause: error,
    });
  }
}
