import { describe, expect, it } from 'vitest';
import { MailRoutes, type MailRoute } from '../../../src/verification/dns/mail-routes.ts';
import {
  bothFamilies,
  dnsResolver,
  type HostAddress,
  type Lookup,
  type MxRecord,
  type Resolver,
} from '../../../src/verification/dns/resolver.ts';
import { isPublicAddress } from '../../../src/verification/dns/public-address.ts';

const FAILED = { kind: 'failed', detail: 'ESERVFAIL' } as const;
const at = (address: string, ttlS = 600): HostAddress => ({ address, family: address.includes(':') ? 6 : 4, ttlS });
const found = <T>(...records: T[]): Lookup<T> => ({ kind: 'found', records });

interface Zone {
  readonly mx?: Readonly<Record<string, Lookup<MxRecord>>>;
  readonly a?: Readonly<Record<string, Lookup<HostAddress>>>;
}

function routes(
  zone: Zone,
  privateAddresses = false,
): { find: (domain: string) => Promise<MailRoute>; asked: string[]; time: { ms: number } } {
  const asked: string[] = [];
  const time = { ms: 0 };
  const resolver: Resolver = {
    mx(domain) {
      asked.push(`mx ${domain}`);
      return Promise.resolve(zone.mx?.[domain] ?? { kind: 'no_name', ttlS: null });
    },
    addresses(host) {
      asked.push(`a ${host}`);
      return Promise.resolve(zone.a?.[host] ?? { kind: 'no_name', ttlS: null });
    },
  };
  const all = new MailRoutes({ resolver, clock: () => time.ms, privateAddresses });
  return { find: (domain) => all.find(domain), asked, time };
}

const mx = (preference: number, host: string, ttlS = 600): MxRecord => ({ preference, host, ttlS });

describe('MailRoutes', () => {
  it('lists each host that has an address once, most preferred first', async () => {
    const { find } = routes({
      mx: {
        'a.test': found(
          mx(30, 'mx3.test'),
          mx(10, 'mx1.test'),
          mx(20, 'gone.test'),
          mx(40, 'mx1.test'),
          mx(5, '198.51.100.7'),
          mx(6, 'not a host.test'),
        ),
      },
      a: { 'mx1.test': found(at('8.8.8.8'), at('2a00::1')), 'mx3.test': found(at('9.9.9.9')) },
    });
    const route = await find('a.test');
    expect(route).toMatchObject({
      kind: 'hosts',
      implicit: false,
      hosts: [{ name: 'mx1.test', preference: 10, addresses: [{ address: '8.8.8.8' }, { address: '2a00::1' }] }, { name: 'mx3.test' }],
    });
    expect(route.kind === 'hosts' && route.records.map(({ preference }) => preference)).toEqual([5, 6, 10, 20, 30, 40]);
  });

  it.each<[string, Zone, Partial<MailRoute>]>([
    ['a null MX alone', { mx: { 'a.test': found(mx(0, '')) } }, { kind: 'null_mx' }],
    [
      'a null MX beside another',
      { mx: { 'a.test': found(mx(0, ''), mx(5, 'mx.test')) }, a: { 'mx.test': found(at('8.8.8.8')) } },
      { kind: 'hosts' },
    ],
    ['two null MX', { mx: { 'a.test': found(mx(0, ''), mx(5, '')) } }, { kind: 'no_mail_host' }],
    ['no such domain', {}, { kind: 'no_domain' }],
    [
      'no MX but an address',
      { mx: { 'a.test': { kind: 'no_data', ttlS: null } }, a: { 'a.test': found(at('8.8.8.8')) } },
      { kind: 'hosts', implicit: true, records: [] },
    ],
    [
      'neither MX nor address',
      { mx: { 'a.test': { kind: 'no_data', ttlS: null } }, a: { 'a.test': { kind: 'no_data', ttlS: null } } },
      { kind: 'no_mail_host' },
    ],
    ['no MX and a DNS failure for the address', { mx: { 'a.test': { kind: 'no_data', ttlS: null } }, a: { 'a.test': FAILED } }, FAILED],
    ['a DNS failure for the MX', { mx: { 'a.test': FAILED } }, FAILED],
    ['an MX that does not exist', { mx: { 'a.test': found(mx(1, 'mx.test')) } }, { kind: 'no_mail_host' }],
    [
      'an MX whose name has an underscore',
      { mx: { 'a.test': found(mx(1, '_dc-mx.0a1b.a.test')) }, a: { '_dc-mx.0a1b.a.test': found(at('8.8.8.8')) } },
      { kind: 'hosts' },
    ],
    [
      'more dead MX than are looked up',
      { mx: { 'a.test': found(...Array.from({ length: 11 }, (_, i) => mx(i, `mx${i}.test`))) }, a: { 'mx10.test': found(at('8.8.8.8')) } },
      { kind: 'failed' },
    ],
    [
      'an MX that is an address',
      { mx: { 'a.test': found(mx(1, '8.8.8.8')) } },
      { kind: 'failed', detail: 'the MX record names an address (8.8.8.8) where a host belongs' },
    ],
    ['an MX that is an address, beside a dead one', { mx: { 'a.test': found(mx(1, 'gone.test'), mx(2, '2a00::1')) } }, { kind: 'failed' }],
    [
      'an MX with a DNS failure, beside a missing one',
      { mx: { 'a.test': found(mx(1, 'mx.test'), mx(2, 'gone.test')) }, a: { 'mx.test': FAILED } },
      FAILED,
    ],
    [
      'an MX on this machine',
      { mx: { 'a.test': found(mx(1, 'mx.test')) }, a: { 'mx.test': found(at('127.0.0.1'), at('::1')) } },
      { kind: 'failed' },
    ],
  ])('finds the route of a domain with %s', async (_name, zone, expected) => {
    expect(await routes(zone).find('a.test')).toMatchObject(expected);
  });

  it('accepts private addresses when they are allowed', async () => {
    const zone = { mx: { 'a.test': found(mx(1, 'mx.test')) }, a: { 'mx.test': found(at('127.0.0.1')) } };
    expect((await routes(zone, true).find('a.test')).kind).toBe('hosts');
  });

  it('asks DNS once for all waiting callers, and again when the time to live is over', async () => {
    const { find, asked, time } = routes({
      mx: { 'a.test': found(mx(1, 'mx.test')), 'b.test': found(mx(1, 'mx.test')), 'c.test': FAILED },
      a: { 'mx.test': found(at('8.8.8.8', 120)) },
    });
    await Promise.all([find('a.test'), find('a.test'), find('b.test'), find('c.test')]);
    expect(asked.sort()).toEqual(['a mx.test', 'mx a.test', 'mx b.test', 'mx c.test']);
    time.ms = 119_000;
    await Promise.all([find('a.test'), find('c.test')]);
    expect(asked.length).toBe(5);
    time.ms = 121_000;
    await find('a.test');
    expect(asked.length).toBe(7);
  });
});

describe('a partial route', () => {
  it('expires after five seconds, since the missing host may be the preferred one', async () => {
    const a: Record<string, Lookup<HostAddress>> = { 'mx1.test': FAILED, 'mx2.test': found(at('8.8.8.8', 3_600)) };
    const { find, time } = routes({ mx: { 'a.test': found(mx(10, 'mx1.test'), mx(20, 'mx2.test')) }, a });
    const names = async (): Promise<string[]> => {
      const route = await find('a.test');
      return route.kind === 'hosts' ? route.hosts.map(({ name }) => name) : [];
    };
    expect(await names()).toEqual(['mx2.test']);
    a['mx1.test'] = found(at('9.9.9.9', 3_600));
    time.ms = 4_999;
    expect(await names()).toEqual(['mx2.test']);
    time.ms = 5_000;
    expect(await names()).toEqual(['mx1.test', 'mx2.test']);
  });
});

describe('bothFamilies', () => {
  it.each([
    ['addresses of one family outrank a failure of the other', found(at('8.8.8.8')), FAILED, 'found'],
    ['a failure outranks an absence', { kind: 'no_data', ttlS: null } as const, FAILED, 'failed'],
    [
      'a name is absent only when both families say so',
      { kind: 'no_name', ttlS: null } as const,
      { kind: 'no_name', ttlS: null } as const,
      'no_name',
    ],
    ['a name can exist without addresses', { kind: 'no_data', ttlS: null } as const, { kind: 'no_data', ttlS: null } as const, 'no_data'],
  ])('%s', (_name, four, six, kind) => {
    expect(bothFamilies(four, six).kind).toBe(kind);
  });
});

describe('isPublicAddress', () => {
  it.each(['8.8.8.8', '2a00:1450::1', '::ffff:8.8.8.8', '172.32.0.1', '100.128.0.1'])('accepts %s', (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );
  it.each([
    '127.0.0.1',
    '127.255.0.1',
    '0.0.0.0',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fd00::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '64:ff9b::10.0.0.1',
    '2002:7f00:1::',
  ])('rejects %s', (address) => expect(isPublicAddress(address)).toBe(false));
});

it('an invalid DNS server is refused with exit code 64', () => {
  expect(() => dnsResolver(['localhost'])).toThrow(expect.objectContaining({ exitCode: 64, code: 'bad_dns_server' }) as Error);
});
