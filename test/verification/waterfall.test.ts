import { describe, expect, it } from 'vitest';
import type { Resolver } from '../../src/verification/dns/resolver.ts';
import { SmtpFailure } from '../../src/verification/smtp/connection.ts';
import type { SmtpSettings } from '../../src/verification/smtp/settings.ts';
import { CASES } from './cases.ts';
import { inWorld, NO_EVIDENCE, WORLD } from './in-world.ts';

const ALL = Object.values(CASES).flat();

describe('the waterfall, over real sockets', () => {
  it('gives the expected verdict for each address of the mail world on its own', async () => {
    const { one } = await inWorld();
    const wrong: unknown[] = [];
    for (const [email, result, reason, confidence] of ALL) {
      const found = await one(email);
      if (found.result !== result || found.reason !== reason || found.confidence !== confidence)
        wrong.push({
          email,
          result: found.result,
          reason: found.reason,
          confidence: found.confidence,
          smtp: found.smtp,
          checks: found.checks,
        });
    }
    expect(wrong).toEqual([]);
  });

  it('gives the same verdicts for all addresses in one batch', async () => {
    // All servers are in this process: each has to answer in time while the others do.
    const { verify } = await inWorld({ commandMs: 8_000 });
    const found = await verify(ALL.map(([email]) => email));
    expect(found.map(({ email, result, reason, confidence }) => [email, result, reason, confidence])).toEqual(ALL);
  });

  it('the cases cover every domain of the mail world except the one whose DNS never answers', () => {
    const covered = new Set(ALL.map(([email]) => email.slice(email.lastIndexOf('@') + 1).replace('münchen', 'xn--mnchen-3ya')));
    expect(Object.keys(WORLD.domains).filter((domain) => !covered.has(domain))).toEqual(['mute-dns.test']);
  });

  it('a verdict shows its MX records, SMTP reply, flags and checks', async () => {
    const { one } = await inWorld();
    expect(await one('jane@tls.test')).toMatchObject({
      mx: { found: true, implicit: false, null_mx: false, records: [{ preference: 10, host: 'mx.tls.test' }], provider: 'tls.test' },
      smtp: { stage: 'rcpt', host: 'mx.tls.test', code: 250, enhanced_code: '2.1.5', message: '2.1.5 fine', tls: true, greylisted: false },
      flags: { accept_all: false, mailbox_full: false, disabled: false },
      attempts: 1,
      expires_at: '2026-07-01T00:00:00.000Z',
    });
    expect((await one('jane@tls.test')).checks.map(({ name, result }) => [name, result])).toEqual([
      ['syntax', 'valid'],
      ['lists', 'clear'],
      ['evidence', 'none'],
      ['dns', 'hosts'],
      ['smtp', 'accepted'],
    ]);
    expect(await one('jane@deputy.test')).toMatchObject({
      smtp: { host: 'mx.second.test' },
      attempts: 3,
      mx: { records: [{ preference: 5 }, { preference: 10 }, { preference: 20 }] },
    });
    expect(await one('off@plain.test')).toMatchObject({ flags: { disabled: true }, smtp: { code: 550, enhanced_code: '5.2.1' } });
    expect(await one('jane@null-mx.test')).toMatchObject({ mx: { found: false, null_mx: true, provider: null }, smtp: null });
    expect(await one('jane@servfail.test')).toMatchObject({ mx: null, smtp: null });
    expect(await one('jane@bad-tls.test')).toMatchObject({ smtp: { tls: false } });
    expect(await one('jane@refuses.test')).toMatchObject({ smtp: { stage: 'greeting', code: 554 } });
    expect(await one('jane@drops.test')).toMatchObject({ smtp: { stage: 'rcpt', code: null } });
  });

  it('a probable typo that is an existing domain is risky even when its server accepts the mailbox', async () => {
    const world = { hosts: { 'mx.test': {} }, domains: { 'gmial.com': { mx: [[10, 'mx.test']], mailboxes: ['jane'] } } } as const;
    const { one } = await inWorld({}, {}, world);
    expect(await one('jane@gmial.com')).toMatchObject({
      result: 'risky',
      reason: 'possible_typo',
      confidence: 72,
      did_you_mean: 'jane@gmail.com',
    });
    expect(await one('nobody@gmial.com')).toMatchObject({ result: 'undeliverable', did_you_mean: 'nobody@gmail.com' });
  });

  it('a lookalike domain is reported with the provider it imitates, and its server is still asked', async () => {
    const world = { hosts: { 'mx.test': {} }, domains: { 'xn--gmil-63d.com': { mx: [[10, 'mx.test']], mailboxes: ['jane'] } } } as const;
    const { one } = await inWorld({}, {}, world);
    const found = await one('jane@gmаil.com');
    expect(found).toMatchObject({
      result: 'risky',
      reason: 'possible_typo',
      did_you_mean: 'jane@gmail.com',
      domain: { ascii: 'xn--gmil-63d.com', unicode: 'gmаil.com' },
    });
    expect(found.checks.find(({ name }) => name === 'lists')).toMatchObject({ result: 'lookalike', detail: 'it reads like gmail.com' });
  });

  it('a verdict uses no stage beyond the requested mode', async () => {
    const { one, world } = await inWorld();
    expect(await one('jane@plain.test', { mode: 'dns' })).toMatchObject({
      result: 'unknown',
      reason: 'smtp_not_asked',
      confidence: 30,
      mx: { found: true },
      smtp: null,
    });
    expect(await one('jane@nowhere.test', { mode: 'dns' })).toMatchObject({ result: 'undeliverable', reason: 'no_domain' });
    expect(await one('jane@plain.test', { mode: 'syntax' })).toMatchObject({ reason: 'not_checked', mx: null });
    expect(await one('x@mailinator.com')).toMatchObject({ reason: 'disposable', mx: null });
    expect(world.countsOf('mx.plain.test').connections).toBe(0);
  });

  it('with SMTP off, the verdict rests on DNS and gives smtp_off as its reason', async () => {
    const { one } = await inWorld({}, { smtp: null });
    const found = await one('jane@plain.test');
    expect(found).toMatchObject({ result: 'unknown', reason: 'smtp_off', mx: { found: true }, smtp: null });
    expect(found.checks.at(-1)).toMatchObject({ name: 'smtp', result: 'off' });
    expect(await one('jane@null-mx.test')).toMatchObject({ result: 'undeliverable', reason: 'null_mx' });
  });

  it('with port 25 blocked, the verdict rests on DNS and gives smtp_blocked as its reason', async () => {
    const { verify } = await inWorld({ connect: () => Promise.reject(new SmtpFailure('timeout', 'no connection within 10000 ms')) });
    const found = await verify(['plain', 'deputy', 'tls', 'utf8', 'old', 'strict', 'null-mx'].map((name) => `jane@${name}.test`));
    const blocked = found.filter(({ reason }) => reason === 'smtp_blocked');
    // Two hosts may time out before the third shows that port 25 is blocked.
    expect(blocked.length).toBeGreaterThanOrEqual(4);
    expect(blocked.length + found.filter(({ reason }) => reason === 'no_answer').length).toBe(6);
    expect(blocked[0]).toMatchObject({
      result: 'unknown',
      confidence: 30,
      mx: { found: true },
      smtp: null,
      retry_at: null,
      score_factors: [{ factor: 'not_checked' }],
    });
    expect(blocked[0]?.checks.at(-1)).toMatchObject({
      name: 'smtp',
      result: 'blocked',
      detail: expect.stringContaining('port 25') as string,
    });
    expect(found.at(-1)).toMatchObject({ result: 'undeliverable', reason: 'null_mx' });
  });

  it('tries two IPv4 addresses of a host, then IPv6', async () => {
    const tried: string[] = [];
    const { world } = await inWorld();
    const resolver: Resolver = {
      mx: () => Promise.resolve({ kind: 'found', records: [{ preference: 1, host: 'mx.plain.test', ttlS: 60 }] }),
      addresses: () =>
        Promise.resolve({
          kind: 'found',
          records: ['2001:db8::1', '192.0.2.1', '192.0.2.2', '192.0.2.3'].map((address) => ({
            address,
            family: address.includes(':') ? 6 : 4,
            ttlS: 60,
          })),
        }),
    };
    const connect: SmtpSettings['connect'] = (target, timeoutMs, signal) => {
      tried.push(target.address);
      return target.address.includes(':')
        ? world.connect({ ...target, address: '127.0.0.1' }, timeoutMs, signal)
        : Promise.reject(new SmtpFailure('unreachable', 'ENETUNREACH'));
    };
    const { one } = await inWorld({ connect }, { resolver });
    expect(await one('jane@plain.test')).toMatchObject({ result: 'deliverable' });
    expect(tried).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1']);
  });

  it('private addresses are not connected to unless they are allowed', async () => {
    const { one, world } = await inWorld({}, { privateAddresses: false });
    expect(await one('jane@plain.test')).toMatchObject({ result: 'unknown', reason: 'dns_failed', mx: null });
    expect(world.countsOf('mx.plain.test').connections).toBe(0);
  });

  it('adds points for the known address pattern of the domain', async () => {
    const { one } = await inWorld();
    const evidence = { ...NO_EVIDENCE, domain: () => ({ acceptsAll: null, emailPattern: '{first}.{last}' }) };
    expect(await one('jane.doe@anybody.test', { evidence })).toMatchObject({
      confidence: 60,
      score_factors: [
        { factor: 'accept_all', points: 50 },
        { factor: 'fits_domain_pattern', points: 10 },
      ],
    });
  });
});

describe('timing', () => {
  it('a greylisted mailbox is asked again at its retry_at, and no sooner', async () => {
    const { one, time, world } = await inWorld();
    const start = time.nowMs;
    expect(await one('jane@grey.test')).toMatchObject({
      reason: 'greylisted',
      smtp: { greylisted: true },
      retry_at: new Date(start + 360_000).toISOString(),
      attempts: 1,
    });
    const connections = world.countsOf('mx.plain.test').connections;
    time.nowMs += 359_000;
    expect(await one('jane@grey.test')).toMatchObject({
      reason: 'greylisted',
      retry_at: new Date(start + 360_000).toISOString(),
      attempts: 1,
    });
    expect(world.countsOf('mx.plain.test').connections).toBe(connections);
    time.nowMs += 2_000;
    expect(await one('jane@grey.test')).toMatchObject({ result: 'deliverable', reason: 'accepted', retry_at: null, attempts: 2 });
  });

  it.each([
    ['to every recipient', 'later@plain.test'],
    ['because it forgets earlier attempts', 'jane@forgets.test'],
    ['to MAIL', 'jane@defers.test'],
    ['as it closes the conversation', 'closing@plain.test'],
    ['in place of a greeting', 'jane@busy.test'],
  ])('a server that always replies "later" %s is asked again after 6, 15 and 60 minutes, and then no more', async (_name, email) => {
    const { one, time } = await inWorld();
    const waits: (number | null)[] = [];
    for (let n = 0; n < 4; n++) {
      const { retry_at: at } = await one(email);
      waits.push(at === null ? null : (Date.parse(at) - time.nowMs) / 60_000);
      time.nowMs = at === null ? time.nowMs : Date.parse(at);
    }
    expect(waits).toEqual([6, 15, 60, null]);
  });

  it('at the deadline unanswered addresses are pending, and the others keep their verdicts', async () => {
    const { verify } = await inWorld({ commandMs: 60_000 });
    const found = await verify(['jane@silent.test', 'jane@plain.test', 'jane@mute-dns.test', 'n/a'], { timeoutMs: 5_000 });
    expect(found.map(({ result, reason }) => [result, reason])).toEqual([
      ['unknown', 'pending'],
      ['deliverable', 'accepted'],
      ['unknown', 'pending'],
      ['undeliverable', 'invalid_syntax'],
    ]);
    expect(found.map(({ retry_at: at }) => at !== null)).toEqual([true, false, true, false]);
  });

  it('closing the verifier ends pending verifications at once', async () => {
    const { one, verifier, world } = await inWorld({ commandMs: 60_000 });
    const waiting = one('jane@silent.test');
    while (world.countsOf('mx.silent.test').connections === 0) await new Promise((resolve) => setImmediate(resolve));
    verifier.close();
    expect(await waiting).toMatchObject({ result: 'unknown', reason: 'pending' });
  });
});

describe('conversations', () => {
  it('one conversation serves many domains of one host', async () => {
    const domains = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`d${n}.test`, { mx: [[10, 'mx.shared.test']] as const, mailboxes: ['jane'] }]),
    );
    const { verify, world } = await inWorld({ conversationsPerProvider: 2 }, {}, { hosts: { 'mx.shared.test': {} }, domains });
    const found = await verify(Object.keys(domains).flatMap((domain) => [`jane@${domain}`, `joe@${domain}`]));
    expect(new Set(found.map(({ email, result }) => `${email.slice(0, 4)} ${result}`))).toEqual(
      new Set(['jane deliverable', 'joe@ undeliverable']),
    );
    // 30 domains with two addresses and two probe recipients each; a conversation takes 100 recipients.
    expect(world.countsOf('mx.shared.test').connections).toBe(2);
  });

  it('twelve concurrent batches on three hosts all get complete answers', async () => {
    const hosts = { 'mx.one.test': {}, 'mx.two.test': {}, 'mx2.two.test': {} };
    const names = Object.keys(hosts);
    const domains = Object.fromEntries(
      Array.from({ length: 250 }, (_, n) => [`d${n}.test`, { mx: [[10, names[n % 3] ?? '']] as const, mailboxes: ['jane'] }]),
    );
    const { verify } = await inWorld({ commandMs: 10_000 }, {}, { hosts, domains });
    const batches = await Promise.all(
      Array.from({ length: 12 }, (_, k) => verify(Object.keys(domains).map((domain) => `user${k}@${domain}`))),
    );
    expect(new Set(batches.flat().map(({ reason }) => reason))).toEqual(new Set(['no_mailbox']));
  });

  it('a low limit of conversations is shared fairly between providers', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `mx.p${n}.test`);
    const domains = Object.fromEntries(
      Array.from({ length: 48 }, (_, n) => [`d${n}.test`, { mx: [[10, names[n % 12] ?? '']] as const, mailboxes: ['jane'] }]),
    );
    const { verify, world } = await inWorld(
      { conversations: 2 },
      {},
      { hosts: Object.fromEntries(names.map((name) => [name, {}])), domains },
    );
    const found = await verify(Object.keys(domains).map((domain) => `jane@${domain}`));
    expect(new Set(found.map(({ reason }) => reason))).toEqual(new Set(['accepted']));
    expect(names.every((name) => world.countsOf(name).connections > 0)).toBe(true);
  });

  it('a dead host is not connected to again after three failures', async () => {
    const domains = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`d${n}.test`, { mx: [[10, 'mx.busy.test']] as const }]));
    const { verify, world } = await inWorld({ conversationsPerProvider: 1 }, {}, { hosts: { 'mx.busy.test': { quirk: 'busy' } }, domains });
    const found = await verify(Object.keys(domains).map((domain) => `jane@${domain}`));
    // Addresses that were not asked get the same answer as those that were.
    expect(new Set(found.map(({ reason, smtp }) => `${reason} ${smtp?.code} ${smtp?.message}`))).toEqual(
      new Set(['greylisted 421 4.3.2 too busy, come again later']),
    );
    expect(world.countsOf('mx.busy.test').connections).toBe(3);
  });

  it('a conversation that passes to another caller follows the deadline of that caller', async () => {
    const domains = {
      'first.test': { mx: [[10, 'mx.shared.test']], mailboxes: ['jane'] },
      'second.test': { mx: [[10, 'mx.shared.test']], mailboxes: Array.from({ length: 50 }, (_, n) => `user${n}`) },
      'silent.test': { mx: [[10, 'mx.silent.test']] },
    } as const;
    const { verify, world } = await inWorld(
      { conversationsPerProvider: 1, commandMs: 60_000 },
      {},
      { hosts: { 'mx.shared.test': { latencyMs: 50 }, 'mx.silent.test': { quirk: 'silent' } }, domains },
    );
    // The first batch asks the shared host, then waits for the silent host. Meanwhile the second batch uses the conversation.
    const first = verify(['jane@first.test', 'jane@silent.test'], { timeoutMs: 2_000 });
    while (world.countsOf('mx.shared.test').connections === 0) await new Promise((resolve) => setImmediate(resolve));
    const second = verify(Array.from({ length: 50 }, (_, n) => `user${n}@second.test`));
    expect((await first).map(({ reason }) => reason)).toEqual(['accepted', 'pending']);
    expect(new Set((await second).map(({ reason }) => reason))).toEqual(new Set(['accepted']));
    expect(world.countsOf('mx.shared.test').connections).toBe(1);
  });

  it('the accept-all probe of a domain is not repeated once it has a result', async () => {
    const asked: number[] = [];
    let count = 0;
    const { one } = await inWorld({
      probeLocalParts: () => {
        count++;
        return ['abc.defg', '0011'];
      },
    });
    for (const email of ['a@anybody.test', 'b@anybody.test', 'jane@plain.test', 'joe@plain.test', 'jane@unsure.test', 'jane@unsure.test']) {
      await one(email);
      asked.push(count);
    }
    expect(asked).toEqual([1, 1, 2, 2, 3, 4]);
  });
});
