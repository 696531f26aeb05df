import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { HostAddress, Resolver } from '../../../src/verification/dns/resolver.ts';
import { publicAddressesOf, checkedLookup, isPublicTarget } from '../../../src/service/webhooks/ssrf-guard.ts';
import { checkWebhookUrl, urlProblem } from '../../../src/service/webhooks/url.ts';

const resolves = (...addresses: string[]): Pick<Resolver, 'addresses'> => ({
  addresses: async () => ({
    kind: 'found',
    records: addresses.map((address): HostAddress => ({ address, family: address.includes(':') ? 6 : 4, ttlS: 1 })),
  }),
});

/** The first and the last IPv4 address of each range that the IANA registries reserve. */
const RESERVED4 = [
  '0.0.0.0 0.255.255.255',
  '10.0.0.0 10.255.255.255',
  '100.64.0.0 100.127.255.255',
  '127.0.0.0 127.255.255.255',
  '169.254.0.0 169.254.255.255',
  '172.16.0.0 172.31.255.255',
  '192.0.0.0 192.0.0.255',
  '192.0.2.0 192.0.2.255',
  '192.88.99.0 192.88.99.255',
  '192.168.0.0 192.168.255.255',
  '198.18.0.0 198.19.255.255',
  '198.51.100.0 198.51.100.255',
  '203.0.113.0 203.0.113.255',
  '224.0.0.0 255.255.255.255',
].map((range) => range.split(' ').map(numberOf) as [number, number]);
/** Reserved IPv6 ranges within 2000::/3: the first 32 bits, and the length of the prefix. */
const RESERVED6: readonly (readonly [bigint, number])[] = [
  [0x2001_0000n, 23],
  [0x2001_0db8n, 32],
  [0x2002_0000n, 16],
  [0x3fff_0000n, 20],
];

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

const dotted = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
const grouped = (value: bigint): string =>
  Array.from({ length: 8 }, (_, at) => ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16)).join(':');
const any4 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
/** Any address, often at the edge of a range. */
const address4 = fc.oneof(
  any4,
  fc.constantFrom(...RESERVED4.flatMap(([from, to]) => [from - 1, from, to, to + 1])).filter((value) => value >= 0 && value < 2 ** 32),
);
const isReserved4 = (value: number): boolean => RESERVED4.some(([from, to]) => value >= from && value <= to);
const address6 = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
  fc.bigInt({ min: 0n, max: (1n << 125n) - 1n }).map((value) => value | (1n << 125n)),
  fc.tuple(fc.constantFrom(...RESERVED6), fc.bigInt({ min: 0n, max: (1n << 96n) - 1n })).map(([[head], tail]) => (head << 96n) | tail),
);

describe('public addresses', () => {
  it('an IPv4 address is public unless a registry reserves it', () => {
    fc.assert(
      fc.property(address4, (value) => {
        expect(isPublicTarget(dotted(value)), dotted(value)).toBe(!isReserved4(value));
      }),
      { numRuns: 2_000 },
    );
  });

  it('an IPv6 address is public if it is global unicast and not a form of an IPv4 address', () => {
    const isGlobal = (value: bigint): boolean =>
      value >> 125n === 1n && !RESERVED6.some(([head, bits]) => value >> BigInt(128 - bits) === head >> BigInt(32 - bits));
    fc.assert(
      fc.property(address6, (value) => {
        expect(isPublicTarget(grouped(value)), grouped(value)).toBe(isGlobal(value));
      }),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(any4, (value) => {
        for (const form of [
          `::ffff:${dotted(value)}`,
          `::${dotted(value)}`,
          `64:ff9b::${dotted(value)}`,
          `64:ff9b:1::${dotted(value)}`,
          grouped((0x2002n << 112n) | (BigInt(value) << 80n)),
          grouped((0x2001_0000n << 96n) | BigInt(value)),
        ])
          expect(isPublicTarget(form), form).toBe(false);
      }),
    );
  });

  it('a name is refused if any of its addresses is refused', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          address4.map((value) => ({ address: dotted(value), isPublic: !isReserved4(value) })),
          { minLength: 1, maxLength: 4 },
        ),
        async (found) => {
          const resolver = resolves(...found.map(({ address }) => address));
          const outcome = await new Promise<unknown>((resolve) =>
            checkedLookup(resolver)('hooks.acme.example', { all: true }, (error, addresses) =>
              resolve(error === null ? addresses : error.code),
            ),
          );
          const areAllPublic = found.every(({ isPublic }) => isPublic);
          expect(outcome).toEqual(areAllPublic ? found.map(({ address }) => ({ address, family: 4 })) : 'refused_address');
        },
      ),
    );
    await expect(
      publicAddressesOf('hooks.acme.example', { addresses: async () => ({ kind: 'failed', detail: 'SERVFAIL' }) }),
    ).rejects.toMatchObject({ code: 'no_such_host' });
  });
});

describe('URLs of receivers', () => {
  it.each([
    ['https://hooks.acme.example/a?b=c', null],
    ['https://HOOKS.acme.example:8443/', null],
    ['https://8.8.8.8/', null],
    ['https://[2a00:1450::1]/', null],
    ['https://bücher.example', 'format'],
    ['http://hooks.acme.example/', 'insecure'],
    ['ws://hooks.acme.example/', 'format'],
    ['hooks.acme.example', 'format'],
    ['https:hooks.acme.example', 'format'],
    ['https:///hooks.acme.example', 'format'],
    ['https://', 'format'],
    ['https://a@hooks.acme.example', 'credentials'],
    ['https://hooks.acme.example@127.0.0.1', 'credentials'],
    [`https://hooks.acme.example/${'x'.repeat(2_048)}`, 'too_long'],
    ['https://hooks.acme.example/\n', 'format'],
    ['https://127.0.0.1\t.acme.example', 'format'],
    ['https://localhost', 'private_address'],
    ['https://localhost.', 'private_address'],
    ['https://a.localhost', 'private_address'],
    ['https://intranet', 'private_address'],
    ['https://db.internal', 'private_address'],
    ['https://127.0.0.1', 'private_address'],
    ['https://127.1', 'private_address'],
    ['https://2130706433', 'private_address'],
    ['https://0x7f.0.0.1', 'private_address'],
    ['https://0177.0.0.1', 'private_address'],
    ['https://127.0.0.1.', 'private_address'],
    ['https://%31%32%37.0.0.1', 'private_address'],
    ['https://[::1]', 'private_address'],
    ['https://[::ffff:8.8.8.8]', 'private_address'],
    ['https://[fe80::1]', 'private_address'],
    ['https://169.254.169.254/latest', 'private_address'],
  ])('have the verdict for %s: %s', (url, code) => expect(urlProblem(url, false)?.code ?? null).toBe(code));

  it('must have names in ASCII, and the error says so', () => {
    expect(urlProblem('https://bücher.example/', false)?.detail).toContain('xn--');
    expect([
      urlProblem(new URL('https://bücher.example/').href, false),
      urlProblem('https://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1', false)?.code,
    ]).toEqual([null, 'private_address']);
  });

  it('URLs of receivers are normalised without a fragment; in development they may be HTTP and private', () => {
    expect([
      checkWebhookUrl('https://Hooks.acme.example#secret', false),
      checkWebhookUrl('http://127.0.0.1:8080/a', true),
      checkWebhookUrl('http://localhost', true),
    ]).toEqual(['https://hooks.acme.example/', 'http://127.0.0.1:8080/a', 'http://localhost/']);
    expect(() => checkWebhookUrl('http://127.0.0.1', false)).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        errors: [expect.objectContaining({ pointer: '/webhook_url', code: 'insecure' })],
      }),
    );
  });

  it('URLs of receivers are refused for a private address in any notation', () => {
    const forms = (value: number): string[] => [
      dotted(value),
      String(value),
      `0x${value.toString(16)}`,
      `0${value.toString(8)}`,
      `${value >>> 24}.${value & 0xffffff}`,
      `[::ffff:${dotted(value)}]`,
      `${dotted(value)}.`,
    ];
    fc.assert(
      fc.property(address4.filter(isReserved4), (value) => {
        for (const form of forms(value)) expect(urlProblem(`https://${form}/`, false)?.code, form).toBe('private_address');
      }),
    );
  });
});
