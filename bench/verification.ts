/**
 * The quality and speed of the e-mail verifier: `node bench/verification.ts`.
 * - The share of public disposable domains that our lists know (`fixtures/lists/recall.json`).
 * - The reading of real replies of mail servers (`fixtures/replies`), by family, language and source. `replies` as an argument: only this.
 * - Verdicts for each family of cases in the mail world of `fixtures/mail-world.json`, over real sockets.
 * - The time for 1,000 addresses at 200 domains whose servers answer in 50 ms, alone and with a tarpit and a dead host.
 * - The time for 1,000 addresses of one domain, with pipelining, without it, or with 20 recipients a conversation.
 * - A whole file at once: 20 batches of 1,000 at the sample's 557 domains, most of them with three providers.
 * - Long lists with `verify --local`, beside sequential batches of 1,000.
 */
import { readFileSync } from 'node:fs';
import { recallTable, type Recall } from '../fixtures/lists/compare-lists.ts';
import { verifyInWindow } from '../src/cli/verify-window.ts';
import type { GivenKey } from '../src/job/commands/one-off.ts';
import { startMailWorld } from '../src/service/sample/mail-world/start-world.ts';
import type { MailWorld, WorldDomain, WorldHost } from '../src/service/sample/mail-world/world.ts';
import { dnsResolver } from '../src/verification/dns/resolver.ts';
import { smtpSettings } from '../src/verification/smtp/settings.ts';
import type { EmailVerification, VerifyRequest } from '../src/verification/types.ts';
import { Verifier } from '../src/verification/verifier.ts';
import { CASES } from '../test/verification/cases.ts';
import { COLLECTIONS, countReadings, deadReplies, FAMILIES, repliesOf, settledShare } from '../test/verification/replies.ts';
import { testTls } from '../test/verification/certificate.ts';

const print = (text: string): boolean => process.stdout.write(`${text}\n`);
const DOMAINS = 200;
const PEOPLE = ['a1', 'a2', 'a3', 'a4', 'nobody'];
const LATENCY_MS = 50;
const BATCHES = 20;
const REQUEST: VerifyRequest = { mode: 'full', maxAgeS: null, evidence: { mailbox: () => [], domain: () => null }, timeoutMs: 20_000 };

type Check = (emails: readonly string[], timeoutMs: number) => Promise<EmailVerification[]>;

/** A verifier in a running world, until `work` ends. */
async function inWorld<T>(world: MailWorld, commandMs: number, work: (check: Check) => Promise<T>): Promise<T> {
  const running = await startMailWorld(world, { tls: testTls() });
  const verifier = new Verifier({
    resolver: dnsResolver([running.dnsServer]),
    smtp: smtpSettings({ ehloName: 'verifier.test', connect: running.connect, commandMs }),
    privateAddresses: true,
    ownDns: true,
    clock: () => performance.now(),
    now: () => Date.now(),
  });
  try {
    return await work((emails, timeoutMs) => verifier.verify(emails, { ...REQUEST, timeoutMs }));
  } finally {
    verifier.close();
    await running.close();
  }
}

async function verifyIn(
  world: MailWorld,
  batches: readonly (readonly string[])[],
  timeoutMs: number,
  commandMs: number,
): Promise<{ found: EmailVerification[]; ms: number }> {
  return inWorld(world, commandMs, async (check) => {
    const began = performance.now();
    const found = await Promise.all(batches.map((emails) => check(emails, timeoutMs)));
    return { found: found.flat(), ms: performance.now() - began };
  });
}

/** Seconds that a list takes with `verify --local`, and in sequential batches of 1,000. */
async function longList(world: MailWorld, emails: readonly string[]): Promise<string> {
  const windowed = await inWorld(world, 15_000, async (check) => {
    const began = performance.now();
    async function* keys(): AsyncGenerator<GivenKey> {
      for (const [index, text] of emails.entries()) yield { place: index + 1, text };
    }
    await verifyInWindow(keys(), { size: 10_000, verify: (group) => check(group, 120_000), write: () => undefined, room: () => null });
    return performance.now() - began;
  });
  const lockstep = await inWorld(world, 15_000, async (check) => {
    const began = performance.now();
    for (let from = 0; from < emails.length; from += 1_000) await check(emails.slice(from, from + 1_000), 120_000);
    return performance.now() - began;
  });
  return `${(windowed / 1000).toFixed(1)} s; in batches one after the other ${(lockstep / 1000).toFixed(1)} s`;
}

/** `count` domains, each with its own host that replies after 50 ms. */
function manyDomains(count: number): { hosts: Record<string, WorldHost>; domains: Record<string, WorldDomain> } {
  const names = Array.from({ length: count }, (_, n) => `d${n}.test`);
  return {
    hosts: Object.fromEntries(names.map((name) => [`mx.${name}`, { latencyMs: LATENCY_MS }])),
    domains: Object.fromEntries(names.map((name) => [name, { mx: [[10, `mx.${name}`]] as const, catchAll: true }])),
  };
}

async function silentHosts(): Promise<string> {
  const world = manyDomains(250);
  const emails = Array.from({ length: 5_000 }, (_, n) => `user${n}@d${n % 250}.test`);
  for (let n = 0; n < 5; n++) {
    world.hosts[`mx.silent${n}.test`] = { quirk: 'silent' };
    world.domains[`silent${n}.test`] = { mx: [[10, `mx.silent${n}.test`]] };
    emails[n * 1_000] = `jane@silent${n}.test`;
  }
  return longList(world, emails);
}

function lists(): void {
  const recall = JSON.parse(readFileSync(new URL('../fixtures/lists/recall.json', import.meta.url), 'utf8')) as Recall;
  const own = Object.values(recall.own);
  print(`public lists as of ${recall.taken}\n\n${recallTable(recall)}\n`);
  print(
    `entries of the careful list that no public list has: ${recall.unlisted.length}; of our own ${own.length} additions, on a public ` +
      `list: ${own.filter((known) => known !== '').length}\n`,
  );
}

function replies(): void {
  const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
  print('| replies about mailboxes that are | replies | called dead | called full | neither |\n|---|---:|---:|---:|---:|');
  for (const collection of COLLECTIONS) {
    for (const family of FAMILIES) {
      const { replies: all, calledDead, calledFull } = countReadings(repliesOf(family, collection));
      print(`| ${family}, ${collection} | ${all} | ${calledDead.length} | ${calledFull} | ${all - calledDead.length - calledFull} |`);
    }
  }
  const dead = COLLECTIONS.flatMap(deadReplies);
  for (const column of ['language', 'source'] as const) {
    print(`\n| dead or disabled, by ${column} | replies | settled |\n|---|---:|---:|`);
    for (const [name, group = []] of Object.entries(Object.groupBy(dead, (reply) => reply[column])).toSorted(([one], [other]) =>
      one < other ? -1 : 1,
    )) {
      print(`| ${name} | ${group.length} | ${percent(settledShare(group))} |`);
    }
  }
  const unseen = settledShare(deadReplies('unseen'));
  print(`\nsettled of the dead: ${percent(settledShare(dead))}; of those that no rule was written for: ${percent(unseen)}\n`);
}

async function families(): Promise<void> {
  const world = JSON.parse(readFileSync(new URL('../fixtures/mail-world.json', import.meta.url), 'utf8')) as MailWorld;
  const all = Object.values(CASES).flat();
  const { found } = await verifyIn(world, [all.map(([email]) => email)], 20_000, 1_000);
  const byEmail = new Map(found.map((one) => [one.email, one]));
  const right = ([email, result, reason, confidence]: (typeof all)[number]): boolean => {
    const one = byEmail.get(email);
    return one?.result === result && one.reason === reason && one.confidence === confidence;
  };
  print('| family | right | tried |\n|---|---|---|');
  for (const [family, cases] of Object.entries(CASES)) print(`| ${family} | ${cases.filter(right).length} | ${cases.length} |`);
  const blamed = all.filter(([email, result]) => result !== 'undeliverable' && byEmail.get(email)?.result === 'undeliverable').length;
  print(`\ncalled undeliverable without cause: ${blamed}`);
}

async function thousand(
  more: { readonly hosts: Record<string, WorldHost>; readonly domains: Record<string, WorldDomain> },
  timeoutMs: number,
): Promise<string> {
  const hosts: Record<string, WorldHost> = { ...more.hosts };
  const domains: Record<string, WorldDomain> = { ...more.domains };
  for (let n = 0; n < DOMAINS; n++) {
    hosts[`mx.d${n}.test`] = { latencyMs: LATENCY_MS };
    domains[`d${n}.test`] = { mx: [[10, `mx.d${n}.test`]], mailboxes: PEOPLE.slice(0, 4) };
  }
  const extra = Object.keys(more.domains).map((domain) => `jane@${domain}`);
  const emails = Array.from({ length: DOMAINS }, (_, n) => PEOPLE.map((name) => `${name}@d${n}.test`)).flat();
  const { found, ms } = await verifyIn({ hosts, domains }, [[...extra, ...emails]], timeoutMs, 15_000);
  const wrong = found
    .slice(extra.length)
    .filter(({ email, result }) => result !== (email.startsWith('nobody') ? 'undeliverable' : 'deliverable')).length;
  return (
    `${(ms / 1000).toFixed(1)} s, ${emails.length - wrong} of ${emails.length} right` +
    (extra.length === 0 ? '' : `; ${extra.map((email, n) => `${email} ${found[n]?.reason}`).join(', ')}`)
  );
}

/** 1,000 addresses of one domain within the deadline of a request. */
async function oneDomain(host: WorldHost): Promise<string> {
  const people = Array.from({ length: 1_000 }, (_, n) => `user${n}`);
  const world = {
    hosts: { 'mx.one.test': { latencyMs: LATENCY_MS, ...host } },
    domains: { 'one.test': { mx: [[10, 'mx.one.test']], mailboxes: people.slice(0, 500) } },
  } as const;
  const { found, ms } = await verifyIn(world, [people.map((local) => `${local}@one.test`)], 25_000, 15_000);
  const right = found.filter(({ result }, n) => result === (n < 500 ? 'deliverable' : 'undeliverable')).length;
  return (
    `${(ms / 1000).toFixed(1)} s, ${right} of ${people.length} right, the others ` +
    ([...new Set(found.filter(({ result }) => result === 'unknown').map(({ reason }) => reason))].join(', ') || 'none')
  );
}

/**
 * Checks that each address gets everything that the world knows of its domain, if the domain's server works. DNS and hosts that fail by
 * declaration are left out.
 */
async function atOnce(): Promise<string> {
  const world = JSON.parse(readFileSync(new URL('../fixtures/sample/mail-world.json', import.meta.url), 'utf8')) as MailWorld;
  const working = Object.entries(world.domains)
    .filter(
      ([, { dns, nullMx, greylistMs, mx }]) =>
        dns === undefined &&
        nullMx !== true &&
        greylistMs === undefined &&
        mx?.some(([, host]) => world.hosts[host]?.quirk === undefined) === true,
    )
    .map(([name]) => name);
  const batches = Array.from({ length: BATCHES }, (_, k) =>
    Array.from({ length: 1_000 }, (_, n) => `user${k}-${n}@${working[(k * 1_000 + n) % working.length]}`),
  );
  const { found, ms } = await verifyIn(world, batches, 25_000, 15_000);
  const known = found.filter(({ result }) => result !== 'unknown').length;
  return (
    `${(ms / 1000).toFixed(1)} s, a verdict for ${known} of ${found.length}; pending ` +
    `${found.filter(({ reason }) => reason === 'pending').length}, DNS failed ` +
    found.filter(({ reason }) => reason === 'dns_failed').length
  );
}

if (process.argv[2] === 'replies') {
  replies();
  process.exit();
}
lists();
replies();
await families();
print(`\n1,000 addresses at ${DOMAINS} domains, ${LATENCY_MS} ms a reply: ${await thousand({ hosts: {}, domains: {} }, 20_000)}`);
const trouble = {
  hosts: { 'mx.tarpit.test': { quirk: 'drips' }, 'mx.dead.test': { quirk: 'dead' } },
  domains: { 'tarpit.test': { mx: [[10, 'mx.tarpit.test']] }, 'dead.test': { mx: [[10, 'mx.dead.test']] } },
} as const;
print(`the same with a tarpit and a dead host, by a deadline of 5 s: ${await thousand(trouble, 5_000)}`);
print(`1,000 addresses of one domain, ${LATENCY_MS} ms a reply, by a deadline of 25 s: ${await oneDomain({})}`);
print(`the same, one command at a time: ${await oneDomain({ oneByOne: true })}`);
print(`the same, 20 recipients a conversation: ${await oneDomain({ mostRecipients: 20 })}`);
print(`the same, two conversations at a time: ${await oneDomain({ mostConversations: 2 })}`);
print(`${BATCHES} batches of 1,000 at once at the domains of the sample, by a deadline of 25 s: ${await atOnce()}`);
print(`5,000 addresses at 250 domains, one silent host in each thousand: ${await silentHosts()}`);
const file = Array.from({ length: 10_000 }, (_, n) => `user${n}@d${n % 500}.test`);
print(`10,000 addresses at 500 domains, in file order: ${await longList(manyDomains(500), file)}`);
const byDomain = file.toSorted((one, other) => (one.slice(one.indexOf('@')) < other.slice(other.indexOf('@')) ? -1 : 1));
print(`the same, sorted by domain: ${await longList(manyDomains(500), byDomain)}`);
