import { describe, expect, it } from 'vitest';
import type { HostCounts } from '../../../src/service/sample/mail-world/smtp-server.ts';
import type { WorldHost } from '../../../src/service/sample/mail-world/world.ts';
import { smtpSettings, type SmtpSettings } from '../../../src/verification/smtp/settings.ts';
import type { EmailVerification, VerifyRequest } from '../../../src/verification/types.ts';
import { inWorld } from '../in-world.ts';

const HOST = 'mx.one.test';
const { conversationsPerProvider } = smtpSettings({ ehloName: 'verifier.test' });
/** The server still counts a conversation after QUIT until it has read it. */
const MOST_OPEN = 2 * conversationsPerProvider;

/** Asks one host about `count` addresses of one domain. Every second address exists. */
async function ask(
  host: WorldHost,
  count: number,
  settings: Partial<SmtpSettings> = {},
  request: Partial<VerifyRequest> = {},
): Promise<{ found: EmailVerification[]; reasons: (string | boolean | null)[]; seen: Readonly<HostCounts> }> {
  const people = Array.from({ length: count }, (_, n) => `user${n}`);
  const mailboxes = people.filter((_, n) => n % 2 === 0);
  const { verify, world } = await inWorld(
    { commandMs: 5_000, ...settings },
    {},
    { hosts: { [HOST]: host }, domains: { 'one.test': { mx: [[10, HOST]], mailboxes } } },
  );
  const found = await verify(
    people.map((local) => `${local}@one.test`),
    request,
  );
  return { found, reasons: found.map(({ reason }) => reason), seen: world.countsOf(HOST) };
}

const alternating = (count: number): string[] => Array.from({ length: count }, (_, n) => (n % 2 === 0 ? 'accepted' : 'no_mailbox'));

describe('the addresses of one domain', () => {
  it('1,000 addresses use several conversations, and few round trips when the server supports pipelining', async () => {
    const { reasons, seen } = await ask({}, 1_000);
    expect(reasons).toEqual(alternating(1_000));
    expect(seen.mostOpen).toBeGreaterThan(1);
    expect(seen.mostOpen).toBeLessThanOrEqual(MOST_OPEN);
    // A conversation takes 100 recipients, probe included. Pipelining saves the wait for each single answer.
    expect(seen.connections).toBeLessThanOrEqual(conversationsPerProvider + 11);
    expect(seen.turns).toBeLessThanOrEqual(1_000 / 5);
  });

  it('a server without pipelining gets one command at a time', async () => {
    const { reasons, seen } = await ask({ oneByOne: true }, 300);
    expect(reasons).toEqual(alternating(300));
    expect(seen.turns).toBeGreaterThan(300);
    expect(seen.mostOpen).toBeGreaterThan(1);
  });

  it('20 addresses use one conversation', async () => {
    const { reasons, seen } = await ask({}, 20);
    expect(reasons).toEqual(alternating(20));
    expect(seen.connections).toBe(1);
  });
});

describe('the limits of a server', () => {
  it('a server that limits the recipients of a conversation gets the rest in further conversations', async () => {
    const { reasons, found, seen } = await ask({ mostRecipients: 20 }, 300);
    expect(reasons).toEqual(alternating(300));
    expect(new Set(found.filter(({ reason }) => reason === 'accepted').map(({ flags }) => flags.accept_all))).toEqual(new Set([false]));
    // 302 recipients need 16 conversations of 20. The host ends only those that began before the limit was known.
    expect(seen.ended).toBeLessThanOrEqual(conversationsPerProvider);
    expect(seen.connections).toBeLessThanOrEqual(16 + conversationsPerProvider);
  });

  it('a server that limits its concurrent conversations does not count as dead', async () => {
    const { reasons } = await ask({ mostConversations: 2 }, 200);
    expect(reasons).toEqual(alternating(200));
    const domains = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [`d${n}.test`, { mx: [[10, HOST]] as const, mailboxes: ['jane'] }]),
    );
    const { verify } = await inWorld({ commandMs: 5_000 }, {}, { hosts: { [HOST]: { mostConversations: 1, latencyMs: 5 } }, domains });
    const found = await verify(Object.keys(domains).map((domain) => `jane@${domain}`));
    expect(new Set(found.map(({ reason }) => reason))).toEqual(new Set(['accepted']));
  });

  it('a server that blocks the client for good is not asked again', async () => {
    // The block begins after the first address and the two recipients of the probe.
    const { one, world } = await inWorld(
      {},
      {},
      { hosts: { [HOST]: { blocksAfter: 3 } }, domains: { 'one.test': { mx: [[10, HOST]], mailboxes: ['jane', 'joe'] } } },
    );
    expect(await one('jane@one.test')).toMatchObject({ reason: 'accepted' });
    expect(await one('joe@one.test')).toMatchObject({
      result: 'unknown',
      reason: 'policy_rejected',
      retry_at: null,
      smtp: { stage: 'mail', code: 554 },
    });
    expect(world.countsOf(HOST).connections).toBe(2);
  });

  it('addresses that a slow server did not answer by the deadline are pending', async () => {
    const { found } = await ask({ mostRecipients: 2, latencyMs: 50 }, 400, {}, { timeoutMs: 3_000 });
    expect(new Set(found.map(({ reason }) => reason))).toEqual(new Set(['accepted', 'no_mailbox', 'pending']));
    expect(found.filter(({ reason }) => reason === 'pending').every(({ retry_at: at }) => at !== null)).toBe(true);
  });
});

describe('a reused conversation', () => {
  it.each([95, 96, 97, 98, 99])('leaves room for the probe of the next domain after %d recipients', async (before) => {
    const mx = [[10, HOST]] as const;
    const { verify, one } = await inWorld(
      { conversationsPerProvider: 1 },
      {},
      { hosts: { [HOST]: {} }, domains: { 'one.test': { mx, mailboxes: [] }, 'two.test': { mx, mailboxes: ['jane'] } } },
    );
    await verify(Array.from({ length: before }, (_, n) => `nobody${n}@one.test`));
    expect(await one('jane@two.test')).toMatchObject({ reason: 'accepted', flags: { accept_all: false } });
  });
});

describe('a refusal without a reason', () => {
  const REFUSAL = '550 5.4.1 Recipient address rejected: Access denied.';
  const tenant = (mailboxes: readonly string[], replies: Readonly<Record<string, string>> = {}) =>
    inWorld({}, {}, { hosts: { [HOST]: {} }, domains: { 'one.test': { mx: [[10, HOST]], mailboxes, replies, stranger: REFUSAL } } });

  it('a refusal that random addresses get, too, means no_mailbox if a known mailbox is still accepted after it', async () => {
    const { verify, one } = await tenant(['jane']);
    const [joe, jane] = await verify(['joe@one.test', 'jane@one.test']);
    expect(jane).toMatchObject({ result: 'deliverable', confidence: 97, flags: { accept_all: false } });
    expect(joe).toMatchObject({ result: 'undeliverable', reason: 'no_mailbox', smtp: { code: 550, enhanced_code: '5.4.1' } });
    expect(await one('ann@one.test')).toMatchObject({ result: 'undeliverable', reason: 'no_mailbox' });
  });

  it('a refusal stays unknown when every address gets it, or only postmaster is accepted', async () => {
    const { one, verify } = await tenant(['postmaster']);
    expect(await one('joe@one.test')).toMatchObject({ result: 'unknown', reason: 'rejected' });
    expect((await verify(['postmaster@one.test', 'joe@one.test'])).map(({ reason }) => reason)).toEqual(['accepted', 'rejected']);
  });

  it('a refusal stays unknown when random addresses get a different one', async () => {
    const { verify } = await tenant(['jane'], { joe: '550 5.5.0 not today' });
    expect((await verify(['jane@one.test', 'joe@one.test'])).map(({ reason }) => reason)).toEqual(['accepted', 'rejected']);
  });
});
