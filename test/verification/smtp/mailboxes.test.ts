import { describe, expect, it } from 'vitest';
import type { HostCounts } from '../../../src/service/mail-world/smtp-server.ts';
import type { WorldHost } from '../../../src/service/mail-world/world.ts';
import { smtpSettings, type SmtpSettings } from '../../../src/verification/smtp/settings.ts';
import type { EmailVerification, VerifyRequest } from '../../../src/verification/types.ts';
import { inWorld } from '../in-world.ts';

const HOST = 'mx.one.test';
const { conversationsPerProvider } = smtpSettings({ ehloName: 'verifier.test' });
/** A conversation that has said goodbye is there for the server until it has heard it. */
const MOST_OPEN = 2 * conversationsPerProvider;

/** Asks one host about `count` addresses of one domain, every second of which exists. */
async function ask(host: WorldHost, count: number, settings: Partial<SmtpSettings> = {}, request: Partial<VerifyRequest> = {}): Promise<{ found: EmailVerification[]; reasons: (string | boolean | null)[]; seen: Readonly<HostCounts> }> {
  const people = Array.from({ length: count }, (_, n) => `user${n}`);
  const mailboxes = people.filter((_, n) => n % 2 === 0);
  const { verify, world } = await inWorld({ commandMs: 5_000, ...settings }, {}, { hosts: { [HOST]: host }, domains: { 'one.test': { mx: [[10, HOST]], mailboxes } } });
  const found = await verify(people.map((local) => `${local}@one.test`), request);
  return { found, reasons: found.map(({ reason }) => reason), seen: world.countsOf(HOST) };
}

const inTurns = (count: number): string[] => Array.from({ length: count }, (_, n) => (n % 2 === 0 ? 'accepted' : 'no_mailbox'));

describe('one domain of many addresses', () => {
  it('is asked about in several conversations, and in few round trips where the server takes commands together', async () => {
    const { reasons, seen } = await ask({}, 1_000);
    expect(reasons).toEqual(inTurns(1_000));
    expect(seen.mostOpen).toBeGreaterThan(1);
    expect(seen.mostOpen).toBeLessThanOrEqual(MOST_OPEN);
    // 100 recipients a conversation, the strangers included; EHLO, MAIL, RCPT, RSET: none waits for ten answers one by one.
    expect(seen.connections).toBeLessThanOrEqual(conversationsPerProvider + 11);
    expect(seen.turns).toBeLessThanOrEqual(1_000 / 5);
  });

  it('is asked about one by one where the server wants it so', async () => {
    const { reasons, seen } = await ask({ oneByOne: true }, 300);
    expect(reasons).toEqual(inTurns(300));
    expect(seen.turns).toBeGreaterThan(300);
    expect(seen.mostOpen).toBeGreaterThan(1);
  });

  it('is asked about in one conversation where it is small', async () => {
    const { reasons, seen } = await ask({}, 20);
    expect(reasons).toEqual(inTurns(20));
    expect(seen.connections).toBe(1);
  });
});

describe('a server that has had enough', () => {
  it('for one conversation is asked about the rest in others, no longer than it likes', async () => {
    const { reasons, found, seen } = await ask({ mostRecipients: 20 }, 300);
    expect(reasons).toEqual(inTurns(300));
    expect(new Set(found.filter(({ reason }) => reason === 'accepted').map(({ flags }) => flags.accept_all))).toEqual(new Set([false]));
    // 16 take 20 recipients each, of 302. Those that begin before the limit is known are ended by the host; the others end in time.
    expect(seen.ended).toBeLessThanOrEqual(conversationsPerProvider);
    expect(seen.connections).toBeLessThanOrEqual(16 + conversationsPerProvider);
  });

  it('of conversations beside the one it has is not taken for dead', async () => {
    const { reasons } = await ask({ mostConversations: 2 }, 200);
    expect(reasons).toEqual(inTurns(200));
    const domains = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`d${n}.test`, { mx: [[10, HOST]] as const, mailboxes: ['jane'] }]));
    const { verify } = await inWorld({ commandMs: 5_000 }, {}, { hosts: { [HOST]: { mostConversations: 1, latencyMs: 5 } }, domains });
    const found = await verify(Object.keys(domains).map((domain) => `jane@${domain}`));
    expect(new Set(found.map(({ reason }) => reason))).toEqual(new Set(['accepted']));
  });

  it('of us, for good, is taken at its word: it is not asked again each minute', async () => {
    // After the first of them and the two strangers.
    const { one, world } = await inWorld({}, {}, { hosts: { [HOST]: { blocksAfter: 3 } }, domains: { 'one.test': { mx: [[10, HOST]], mailboxes: ['jane', 'joe'] } } });
    expect(await one('jane@one.test')).toMatchObject({ reason: 'accepted' });
    expect(await one('joe@one.test')).toMatchObject({ result: 'unknown', reason: 'policy_rejected', retry_at: null, smtp: { stage: 'mail', code: 554 } });
    expect(world.countsOf(HOST).connections).toBe(2);
  });

  it('and is not through in time leaves the others for later, whatever it said last', async () => {
    const { found } = await ask({ mostRecipients: 2, latencyMs: 50 }, 400, {}, { timeoutMs: 3_000 });
    expect(new Set(found.map(({ reason }) => reason))).toEqual(new Set(['accepted', 'no_mailbox', 'pending']));
    expect(found.filter(({ reason }) => reason === 'pending').every(({ retry_at: at }) => at !== null)).toBe(true);
  });
});

describe('a conversation that was used for another domain before', () => {
  it.each([95, 96, 97, 98, 99])('makes room for the probe of the next domain after %d recipients', async (before) => {
    const mx = [[10, HOST]] as const;
    const { verify, one } = await inWorld({ conversationsPerProvider: 1 }, {}, { hosts: { [HOST]: {} }, domains: { 'one.test': { mx, mailboxes: [] }, 'two.test': { mx, mailboxes: ['jane'] } } });
    await verify(Array.from({ length: before }, (_, n) => `nobody${n}@one.test`));
    expect(await one('jane@two.test')).toMatchObject({ reason: 'accepted', flags: { accept_all: false } });
  });
});

describe('a refusal that does not say why', () => {
  const REFUSAL = '550 5.4.1 Recipient address rejected: Access denied.';
  const tenant = (mailboxes: readonly string[], replies: Readonly<Record<string, string>> = {}) =>
    inWorld({}, {}, { hosts: { [HOST]: {} }, domains: { 'one.test': { mx: [[10, HOST]], mailboxes, replies, stranger: REFUSAL } } });

  it('is about the mailbox where strangers get it too and others are still accepted after it', async () => {
    const { verify, one } = await tenant(['jane']);
    const [joe, jane] = await verify(['joe@one.test', 'jane@one.test']);
    expect(jane).toMatchObject({ result: 'deliverable', confidence: 97, flags: { accept_all: false } });
    expect(joe).toMatchObject({ result: 'undeliverable', reason: 'no_mailbox', smtp: { code: 550, enhanced_code: '5.4.1' } });
    expect(await one('ann@one.test')).toMatchObject({ result: 'undeliverable', reason: 'no_mailbox' });
  });

  it('says nothing where everybody gets it, or only an address that servers always take is accepted', async () => {
    const { one, verify } = await tenant(['postmaster']);
    expect(await one('joe@one.test')).toMatchObject({ result: 'unknown', reason: 'rejected' });
    expect((await verify(['postmaster@one.test', 'joe@one.test'])).map(({ reason }) => reason)).toEqual(['accepted', 'rejected']);
  });

  it('says nothing where strangers get another one', async () => {
    const { verify } = await tenant(['jane'], { joe: '550 5.5.0 not today' });
    expect((await verify(['jane@one.test', 'joe@one.test'])).map(({ reason }) => reason)).toEqual(['accepted', 'rejected']);
  });
});
