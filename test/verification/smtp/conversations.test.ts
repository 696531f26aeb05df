import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MailHost } from '../../../src/verification/dns/mail-routes.ts';
import { SmtpFailure, type SmtpTrouble } from '../../../src/verification/smtp/connection.ts';
import { Conversations } from '../../../src/verification/smtp/conversations.ts';
import type { SessionFailure } from '../../../src/verification/smtp/session.ts';
import { smtpSettings, type SmtpSettings } from '../../../src/verification/smtp/settings.ts';

const hosts = (count: number, provider: (n: number) => string): MailHost[] =>
  Array.from({ length: count }, (_, n) => ({
    name: `mx${n}.${provider(n)}`,
    preference: 10,
    addresses: [{ address: '192.0.2.1', family: 4, ttlS: 60 }],
  }));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Conversations whose connections all fail after `ms`. `begun` records each host and the time of its connection. */
function failing(
  trouble: SmtpTrouble,
  ms: number,
  settings: Partial<SmtpSettings> = {},
): { conversations: Conversations; begun: { host: string; atMs: number }[] } {
  const begun: { host: string; atMs: number }[] = [];
  const connect: SmtpSettings['connect'] = ({ host }, _timeoutMs, signal) =>
    new Promise((_resolve, reject) => {
      begun.push({ host, atMs: performance.now() });
      setTimeout(() => reject(new SmtpFailure(trouble, trouble)), ms);
      signal.addEventListener('abort', () => reject(new SmtpFailure('stopped', 'stopped')));
    });
  return {
    conversations: new Conversations(smtpSettings({ ehloName: 'verifier.test', connect, ...settings }), () => performance.now()),
    begun,
  };
}

/** The failure of each host in `asked` and its time. By default each host belongs to its own domain. */
async function outcomes(
  conversations: Conversations,
  asked: readonly MailHost[],
  signal = new AbortController().signal,
  domainOf = ({ name }: MailHost): string => name,
): Promise<{ trouble: SmtpTrouble; atMs: number }[]> {
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
  it('connections to one provider start at its rate limit, independently of other providers', async () => {
    const { conversations, begun } = failing('unreachable', 1);
    const start = performance.now();
    await outcomes(conversations, [...hosts(50, () => 'one.example'), ...hosts(50, () => 'two.example')]);
    for (const provider of ['one.example', 'two.example']) {
      const times = begun.filter(({ host }) => host.endsWith(provider)).map(({ atMs }) => atMs - start);
      expect(times).toEqual(Array.from({ length: 50 }, (_, n) => n * 40));
    }
  });

  it('one provider gets at most eight conversations at once', async () => {
    const { conversations, begun } = failing('unreachable', 1_000, { perProviderPerSecond: 1_000_000 });
    const start = performance.now();
    await outcomes(
      conversations,
      hosts(20, () => 'one.example'),
    );
    // One batch a second: 8, 8 and 4 connections.
    expect(begun.map(({ atMs }) => Math.floor((atMs - start) / 1_000))).toEqual(Array.from({ length: 20 }, (_, n) => Math.floor(n / 8)));
  });

  it('three silent hosts mean that port 25 is blocked: all waiting callers fail, and it is tried again after a minute', async () => {
    const { conversations, begun } = failing('timeout', 10_000);
    const start = performance.now();
    const found = await outcomes(
      conversations,
      hosts(500, (n) => `p${n}.example`),
    );
    expect(found.every(({ atMs }) => atMs - start === 10_000)).toBe(true);
    // Two hosts had timed out before the third one showed that port 25 is blocked.
    expect(found.filter(({ trouble }) => trouble === 'timeout').length).toBe(2);
    expect(found.filter(({ trouble }) => trouble === 'blocked').length).toBe(498);
    // The limit of 100 at once, and two more in place of the two that timed out.
    expect(begun.length).toBe(102);
    // Port 25 counts as blocked for a minute.
    await vi.advanceTimersByTimeAsync(start + 69_000 - performance.now());
    expect(
      (
        await outcomes(
          conversations,
          hosts(1, () => 'new.example'),
        )
      )[0]?.trouble,
    ).toBe('blocked');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(
      (
        await outcomes(
          conversations,
          hosts(1, () => 'new.example'),
        )
      )[0]?.trouble,
    ).toBe('timeout');
  });

  it('silent hosts that are far apart in time count as dead one by one', async () => {
    const { conversations } = failing('timeout', 10_000);
    for (const n of [1, 2, 3, 4]) {
      expect(
        (
          await outcomes(
            conversations,
            hosts(1, () => `p${n}.example`),
          )
        )[0]?.trouble,
      ).toBe('timeout');
      await vi.advanceTimersByTimeAsync(30_000);
    }
  });

  it('a silent host costs at most two connection timeouts, however many addresses it has', async () => {
    const waits: number[] = [];
    const connect: SmtpSettings['connect'] = (_target, timeoutMs) =>
      new Promise((_resolve, reject) => {
        waits.push(timeoutMs);
        setTimeout(() => reject(new SmtpFailure('timeout', 'timeout')), timeoutMs);
      });
    const start = performance.now();
    const addresses = ([4, 4, 6, 6] as const).map((family, n) => ({
      address: family === 4 ? `192.0.2.${n}` : `2001:db8::${n}`,
      family,
      ttlS: 60,
    }));
    const found = await outcomes(
      new Conversations(smtpSettings({ ehloName: 'verifier.test', connect, connectMs: 9_000 }), () => performance.now()),
      hosts(1, () => 'one.example').map((host) => ({ ...host, addresses })),
    );
    expect(waits).toEqual([9_000, 3_000, 3_000, 3_000]);
    expect(found).toEqual([{ trouble: 'timeout', atMs: start + 18_000 }]);
  });

  it.each([
    [9_999, ['stopped', 'stopped', 'stopped', 'stopped']],
    [12_000, ['stopped', 'stopped', 'stopped', 'timeout']],
  ])(
    'callers with a deadline of %d ms give up on a silent host once the deadline allows a full connection timeout',
    async (deadlineMs, troubles) => {
      const { conversations } = failing('timeout', 60_000);
      const found: SmtpTrouble[] = [];
      for (let n = 0; n < 4; n++) {
        const deadline = new AbortController();
        setTimeout(() => deadline.abort(), deadlineMs);
        found.push(
          ...(
            await outcomes(
              conversations,
              hosts(1, () => 'one.example'),
              deadline.signal,
            )
          ).map(({ trouble }) => trouble),
        );
      }
      expect(found).toEqual(troubles);
    },
  );

  it.each<[string, MailHost[], (host: MailHost) => string]>([
    ['all hosts of one domain', hosts(5, (n) => `p${n}.example`), () => 'one.example'],
    [
      'the one host of many domains',
      hosts(5, () => 'one.example').map((host) => ({ ...host, name: 'mx.one.example' })),
      (host) => `of-${host.addresses[0]?.address}.example`,
    ],
  ])('the silence of %s does not mean that port 25 is blocked', async (_name, asked, domainOf) => {
    const { conversations } = failing('timeout', 10_000);
    const apart = asked.map((host, n) => ({ ...host, addresses: [{ address: `192.0.2.${n}`, family: 4 as const, ttlS: 60 }] }));
    expect(new Set((await outcomes(conversations, apart, undefined, domainOf)).map(({ trouble }) => trouble))).toEqual(
      new Set(['timeout']),
    );
  });

  it('refused connections do not mean that port 25 is blocked', async () => {
    const { conversations } = failing('unreachable', 1);
    const found = await outcomes(
      conversations,
      hosts(50, (n) => `p${n}.example`),
    );
    expect(new Set(found.map(({ trouble }) => trouble))).toEqual(new Set(['unreachable']));
  });
});
