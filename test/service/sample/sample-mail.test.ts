import { expect, it } from 'vitest';
import { makeLeads } from '../../../fixtures/generate/leads.ts';
import { makeSample } from '../../../fixtures/generate/sample.ts';
import type { EmailVerification } from '../../../src/verification/types.ts';
import { serveStore, temporaryFolder } from '../harness.ts';

const ADDRESSES = [...new Set([...makeLeads(makeSample()).matchAll(/[^\s,;"<>]+@[^\s,;"<>]+/g)].map(String))].slice(0, 2_000);

async function verifyAll(): Promise<string[]> {
  const service = await serveStore({ sample: true, store: `${await temporaryFolder()}/sample.sqlite` });
  const verdicts: string[] = [];
  for (let from = 0; from < ADDRESSES.length; from += 1_000) {
    const { json } = await service.post('/v1/emails/verify', { emails: ADDRESSES.slice(from, from + 1_000) });
    for (const { email, result, reason, confidence } of json['data'] as EmailVerification[])
      verdicts.push(`${email} ${result} ${reason} ${confidence}`);
  }
  await service.close();
  return verdicts;
}

it('the sample is verified over real sockets, in the same way every time, with some of everything', async () => {
  const verdicts = await verifyAll();
  expect(verdicts.length).toBe(ADDRESSES.length);
  expect(await verifyAll()).toEqual(verdicts);
  const reasons = new Set(verdicts.map((verdict) => verdict.split(' ').at(-2)));
  expect([...reasons]).toEqual(
    expect.arrayContaining([
      'invalid_syntax',
      'disposable',
      'accepted',
      'no_mailbox',
      'accept_all',
      'greylisted',
      'policy_rejected',
      'no_answer',
      'dns_failed',
      'null_mx',
      'no_domain',
    ]),
  );
  expect([...reasons]).not.toContain('pending');
});
