import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MailHost } from '../../../src/verification/dns/mail-routes.ts';
import { SmtpFailure, type SmtpTrouble } from '../../../src/verification/smtp/connection.ts';
import { Conversations } from '../../../src/verification/smtp/conversations.ts';
import type { SessionFailure } from '../../../src/verification/smtp/session.ts';
import { smtpSettings, type SmtpSettings } from '../../../src/verification/smtp/settings.ts';

const hosts = (count: number, provider: (n: number) => string): MailHost[] =>
  Array.from({ length: count }, (_, n) => ({ name: `mx${n}.${provider(n)}`, preference: 10, addresses: [{ address: '192.0.2.1', family: 4, ttlS: 60 }] }));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Conversations whose connections all fail, each after `ms`; with the hosts connected to and when. */
function failing(trouble: SmtpTrouble, ms: number, settings: Partial<SmtpSettings> = {}): { conversations: Conversations; begun: { host: string; atMs: number }[] } {
  const begun: { host: string; atMs: number }[] = [];
  const connect: SmtpSettings['connect'] = ({ host }, _timeoutMs, signal) =>
    new Promise((_resolve, reject) => {
      begun.push({ host, atMs: performance.now() });
      setTimeout(() => reject(new SmtpFailure(trouble, trouble)), ms);
      signal.addEventListener('abort', () => reject(new SmtpFailure('stopped', 'stopped')));
    });
  return { conversations: new Conversations(smtpSettings({ ehloName: 'verifier.test', connect, ...settings }), () => performance.now()), begun };
}

/** What each of `asked`, by default of a domain of its own, comes to, and when. */
async function outcomes(conversations: Conversations, asked: readonly MailHost[], signal = new AbortController().signal, domainOf = ({ name }: MailHost): string => name): Promise<{ trouble: SmtpTrouble; atMs: number }[]> {
  const all = Promise.all(
    asked.map((host) =>
      conversations.acquire(host, domainOf(host), signal).then(
        () => Promise.reject(new Error('a conversation')),
        (error: SessionFailure) => ({ trouble: error.failure.trouble, atMs: performance.now() }),
      ),
    ),
  );
  await vi.runAllTimersAsync();
  return all;
}

describe('Conversations', () => {
  it('begins no more of them with one provider in a second than is polite, and no fewer; another provider costs it no time', async () => {
    const { conversations, begun } = failing('unreachable', 1);
    const start = performance.now();
    await outcomes(conversations, [...hosts(50, () => 'one.example'), ...hosts(50, () => 'two.example')]);
    for (const provider of ['one.example', 'two.example']) {
      const times = begun.filter(({ host }) => host.endsWith(provider)).map(({ atMs }) => atMs - start);
      expect(times).toEqual(Array.from({ length: 50 }, (_, n) => n * 40));
    }
  });

  it('has no more of them with one provider at once than is polite', async () => {
    const { conversations, begun } = failing('unreachable', 1_000, { perProviderPerSecond: 1_000_000 });
    const start = performance.now();
    await outcomes(conversations, hosts(20, () => 'one.example'));
    // Steps of a second: 8, 8 and 4.
    expect(begun.map(({ atMs }) => Math.floor((atMs - start) / 1_000))).toEqual(Array.from({ length: 20 }, (_, n) => Math.floor(n / 8)));
  });

  it('finds out once that no server can be reached from here, and keeps nobody waiting any longer; later it tries again', async () => {
    const { conversations, begun } = failing('timeout', 10_000);
    const start = performance.now();
    const found = await outcomes(conversations, hosts(500, (n) => `p${n}.example`));
    expect(found.every(({ atMs }) => atMs - start === 10_000)).toBe(true);
    // Two had had their time when the third had.
    expect(found.filter(({ trouble }) => trouble === 'timeout').length).toBe(2);
    expect(found.filter(({ trouble }) => trouble === 'blocked').length).toBe(498);
    // As many as there may be at once, and two in place of those two.
    expect(begun.length).toBe(102);
    // A minute from when it was found out.
    await vi.advanceTimersByTimeAsync(start + 69_000 - performance.now());
    expect((await outcomes(conversations, hosts(1, () => 'new.example')))[0]?.trouble).toBe('blocked');
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await outcomes(conversations, hosts(1, () => 'new.example')))[0]?.trouble).toBe('timeout');
  });

  it('takes silent hosts for dead where they are few and far between, or others answer', async () => {
    const { conversations } = failing('timeout', 10_000);
    for (const n of [1, 2, 3, 4]) {
      expect((await outcomes(conversations, hosts(1, () => `p${n}.example`)))[0]?.trouble).toBe('timeout');
      await vi.advanceTimersByTimeAsync(30_000);
    }
  });

  it('lets a host of which nothing is heard have the time for two connections, however many addresses it has', async () => {
    const waits: number[] = [];
    const connect: SmtpSettings['connect'] = (_target, timeoutMs) =>
      new Promise((_resolve, reject) => {
        waits.push(timeoutMs);
        setTimeout(() => reject(new SmtpFailure('timeout', 'timeout')), timeoutMs);
      });
    const start = performance.now();
    const addresses = ([4, 4, 6, 6] as const).map((family, n) => ({ address: family === 4 ? `192.0.2.${n}` : `2001:db8::${n}`, family, ttlS: 60 }));
    const found = await outcomes(new Conversations(smtpSettings({ ehloName: 'verifier.test', connect, connectMs: 9_000 }), () => performance.now()), hosts(1, () => 'one.example').map((host) => ({ ...host, addresses })));
    expect(waits).toEqual([9_000, 3_000, 3_000, 3_000]);
    expect(found).toEqual([{ trouble: 'timeout', atMs: start + 18_000 }]);
  });

  it.each([
    [9_999, ['stopped', 'stopped', 'stopped', 'stopped']],
    [12_000, ['stopped', 'stopped', 'stopped', 'timeout']],
  ])('whose deadlines of %d ms are too short for a host come past it at last, if they had time for one connection', async (deadlineMs, troubles) => {
    const { conversations } = failing('timeout', 60_000);
    const found: SmtpTrouble[] = [];
    for (let n = 0; n < 4; n++) {
      const deadline = new AbortController();
      setTimeout(() => deadline.abort(), deadlineMs);
      found.push(...(await outcomes(conversations, hosts(1, () => 'one.example'), deadline.signal)).map(({ trouble }) => trouble));
    }
    expect(found).toEqual(troubles);
  });

  it.each<[string, MailHost[], (host: MailHost) => string]>([
    ['all hosts of one domain', hosts(5, (n) => `p${n}.example`), () => 'one.example'],
    ['the one host of many domains', hosts(5, () => 'one.example').map((host) => ({ ...host, name: 'mx.one.example' })), (host) => `of-${host.addresses[0]?.address}.example`],
  ])('takes %s for dead, and nobody else, where nothing is heard', async (_what, asked, domainOf) => {
    const { conversations } = failing('timeout', 10_000);
    const apart = asked.map((host, n) => ({ ...host, addresses: [{ address: `192.0.2.${n}`, family: 4 as const, ttlS: 60 }] }));
    expect(new Set((await outcomes(conversations, apart, undefined, domainOf)).map(({ trouble }) => trouble))).toEqual(new Set(['timeout']));
  });

  it('takes refused connections for the trouble of each host alone', async () => {
    const { conversations } = failing('unreachable', 1);
    const found = await outcomes(conversations, hosts(50, (n) => `p${n}.example`));
    expect(new Set(found.map(({ trouble }) => trouble))).toEqual(new Set(['unreachable']));
  });
});
