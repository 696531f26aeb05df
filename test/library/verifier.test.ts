import { expect, it, onTestFinished } from 'vitest';
import { verifier } from '../../src/index.ts';
import { startMailWorld } from '../../src/service/sample/mail-world/start-world.ts';
import { WORLD } from '../verification/in-world.ts';

async function localVerifier(): Promise<ReturnType<typeof verifier>> {
  const world = await startMailWorld(WORLD);
  const check = verifier({ ehloName: 'Probe.acme.example', dnsServer: world.dnsServer, smtpPort: world.portOf('mx.plain.test') });
  onTestFinished(async () => {
    check.close();
    await world.close();
  });
  return check;
}

it('asks DNS and mail servers, and returns a verdict for each address in order', async () => {
  const check = await localVerifier();
  const found = await check.verify(['jane@plain.test', 'n/a', 'nobody@plain.test', 'jane@null-mx.test']);
  expect(found.map(({ result, reason }) => [result, reason])).toEqual([
    ['deliverable', 'accepted'],
    ['undeliverable', 'invalid_syntax'],
    ['undeliverable', 'no_mailbox'],
    ['undeliverable', 'null_mx'],
  ]);
  expect(await check.verify('jane@plain.test')).toMatchObject({ email: 'jane@plain.test', result: 'deliverable' });
  expect(await check.verify([])).toEqual([]);
});

it('sends nothing in the mode syntax', async () => {
  const check = verifier({ dnsServer: '127.0.0.1:1' });
  const { result, reason, checks } = await check.verify('x@mailinator.com', { mode: 'syntax' });
  expect([result, reason]).toEqual(['risky', 'disposable']);
  expect(checks.map(({ name }) => name)).not.toContain('dns');
  check.close();
});

it.each([
  [{ ehloName: 'localhost\r\nRSET' }, 'bad_ehlo_name'],
  [{ mailFrom: 'nobody' }, 'bad_smtp_sender'],
])('refuses %j', (settings, code) => {
  expect(() => verifier(settings)).toThrow(expect.objectContaining({ exitCode: 78, code }) as Error);
});

it('stops waiting for a greylisting server when its signal says so', async () => {
  const check = await localVerifier();
  await expect(check.verify('jane@plain.test', { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
});
