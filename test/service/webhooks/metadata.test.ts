import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { AttemptSender } from '../../../src/service/webhooks/attempt.ts';
import { isMetadata } from '../../../src/service/webhooks/metadata.ts';
import { publicAddressesOf, checkedLookup } from '../../../src/service/webhooks/ssrf-guard.ts';
import { urlProblem } from '../../../src/service/webhooks/url.ts';

/** Addresses and names from the documentation of the clouds. */
const DOCUMENTED = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.0.23',
  '169.254.42.42',
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  '192.80.8.124',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
  'fd00:a9fe:a9fe::1',
  'fe80::a9fe:a9fe',
  'metadata.google.internal',
  'METADATA.goog',
  'metadata',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'rancher-metadata',
  'api.metadata.cloud.ibm.com',
];
/** Other ways to write 169.254.169.254. */
const FORMS = [
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '169.254.43518',
  '169.254.169.254.',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[::169.254.169.254]',
  '[::ffff:0:a9fe:a9fe]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::a9fe:a9fe]',
  '[2002:a9fe:a9fe::]',
  '[2001:0:1:2:3:4:5601:5601]',
  '１６９.254.169.254',
];

const inUrl = (host: string): string => `https://${host.includes(':') ? `[${host}]` : host}/latest/meta-data/`;

describe('the metadata addresses of clouds', () => {
  it.each([true, false])('have no allowed form (development: %s)', (isDevelopment) => {
    for (const url of [...DOCUMENTED.map(inUrl), ...FORMS.map((host) => `https://${host}/`)])
      expect(urlProblem(url, isDevelopment), url).not.toBeNull();
  });

  it('do not include this machine and private networks in development', () => {
    for (const url of [
      'http://127.0.0.1:3000/',
      'http://localhost/',
      'http://10.0.0.1/',
      'http://192.168.1.2/',
      'http://100.64.0.1/',
      'http://[::1]/',
      'http://[fd12:3456::1]/',
      'http://hooks.internal/',
    ])
      expect(urlProblem(url, true), url).toBeNull();
  });

  it('count in every IPv6 address that leads to them', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff }), (low) => {
        const [a, b] = ['a9fe', low.toString(16)];
        const inverted = [a, b].map((group) => (0xffff - Number.parseInt(group, 16)).toString(16)).join(':');
        for (const address of [
          `::ffff:${a}:${b}`,
          `64:ff9b::${a}:${b}`,
          `64:ff9b:1:2:3:4:${a}:${b}`,
          `2002:${a}:${b}::1`,
          `2001:0:7:8:9:a:${inverted}`,
        ])
          expect(isMetadata(address), address).toBe(true);
        for (const address of [`2a00:1450::${a}:${b}`, `2002:808:808::${a}:${b}`, `::ffff:808:${b}`])
          expect(isMetadata(address), address).toBe(false);
      }),
    );
  });

  it('cannot be reached by a name, also by a socket in development', async () => {
    const resolver = { addresses: async () => ({ kind: 'found', records: [{ address: '168.63.129.16', family: 4, ttlS: 1 }] }) as const };
    await expect(publicAddressesOf('hooks.acme.example', resolver)).rejects.toMatchObject({ code: 'refused_address' });
    const lookUp = (host: string) =>
      new Promise<unknown>((resolve) => checkedLookup(null)(host, { all: true }, (error, found) => resolve(error?.code ?? found)));
    expect([await lookUp('169.254.169.254'), await lookUp('127.0.0.1')]).toEqual([
      'refused_address',
      [{ address: '127.0.0.1', family: 4 }],
    ]);
    const sender = new AttemptSender({ isDevelopment: true, resolver });
    expect(await sender.send('http://169.254.169.254/', {}, '{}', new AbortController().signal)).toEqual({
      status: null,
      error: 'refused_address',
    });
    sender.close();
  });
});
