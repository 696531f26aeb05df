import { describe, expect, it } from 'vitest';
import { isReserved } from '../../src/verification/reserved.ts';
import type { Resolver } from '../../src/verification/dns/resolver.ts';
import { Verifier } from '../../src/verification/verifier.ts';
import { REQUEST } from './in-world.ts';

const ALWAYS = ['jane@acme.invalid', 'jane@printer.local', 'jane@abc.onion', 'jane@localhost', 'jane@acme.localhost', 'jane@LOCALHOST.'];
const OUTSIDE_TEST_BEDS = ['jane@acme.test', 'jane@mail.acme.example', 'jane@example.com', 'jane@sub.example.org'];

function verifierOf(ownDns: boolean): { verifier: Verifier; asked: string[] } {
  const asked: string[] = [];
  const resolver: Resolver = {
    mx(domain) {
      asked.push(domain);
      return Promise.resolve({ kind: 'no_name', ttlS: null });
    },
    addresses: () => Promise.resolve({ kind: 'no_name', ttlS: null }),
  };
  return { verifier: new Verifier({ resolver, smtp: null, ownDns, clock: () => 0, now: () => 0 }), asked };
}

describe('reserved names', () => {
  it('addresses under reserved names are undeliverable without a DNS query', async () => {
    const { verifier, asked } = verifierOf(false);
    const found = await verifier.verify([...ALWAYS, ...OUTSIDE_TEST_BEDS], REQUEST);
    for (const one of found) expect(one).toMatchObject({ result: 'undeliverable', reason: 'reserved_domain', confidence: 0, mx: null });
    expect(asked).toEqual([]);
  });

  it('a test bed may have zones of the names that are only reserved outside of it', async () => {
    const { verifier, asked } = verifierOf(true);
    const found = await verifier.verify([...ALWAYS, ...OUTSIDE_TEST_BEDS], REQUEST);
    expect(found.map(({ reason }) => reason)).toEqual([
      ...ALWAYS.map(() => 'reserved_domain'),
      ...OUTSIDE_TEST_BEDS.map(() => 'no_domain'),
    ]);
    expect(asked).toEqual(['acme.test', 'mail.acme.example', 'example.com', 'sub.example.org']);
  });

  it('a recorded delivery outranks a reserved name', async () => {
    const { verifier } = verifierOf(false);
    const mailbox = () => [{ kind: 'delivered' as const, atMs: 0, untilMs: 1, source: 'test' }];
    const [found] = await verifier.verify(['jane@acme.test'], { ...REQUEST, evidence: { mailbox, domain: () => null } });
    expect(found).toMatchObject({ result: 'deliverable', reason: 'recorded_delivery' });
  });

  it('a name that only ends like a reserved one is not reserved', () => {
    for (const domain of ['mylocal', 'acme.latest', 'notexample.com', 'acme.com', 'invalid.de'])
      expect(isReserved(domain, false)).toBe(false);
  });
});
