/** BIND, Postfix and postgrey from Debian, on loopback addresses and free ports. Each has its own folder and is ended by its process id. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Resolver } from 'node:dns/promises';
import { openSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { CERTIFICATE, KEY } from '../verification/certificate.ts';
import { freePort } from './free-port.ts';
import { makePublicFolder } from './public-folder.ts';

export interface MailServers {
  /** `HOST:PORT` of BIND. */
  readonly dnsServer: string;
  /** The port of all mail hosts, each on its own address. */
  readonly smtpPort: number;
  end(): Promise<void>;
}

const HOSTS = { plain: '127.0.53.10', blocking: '127.0.53.11', encrypted: '127.0.53.12', dead: '127.0.53.13' } as const;
/** Milliseconds. An idle machine needs a second. */
const STARTED_WITHIN_MS = 120_000;

export async function startMailServers(): Promise<MailServers> {
  // postgrey and Postfix run as users of their own.
  const folder = await makePublicFolder('millrace-mail-');
  const log = openSync(join(folder, 'servers.log'), 'a');
  const children: ChildProcess[] = [];
  const end = async (): Promise<void> => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    // Postfix has child processes that end a moment later.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const start = (command: string, ...args: string[]): ChildProcess => {
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', log, log] });
    children.push(child);
    return child;
  };
  try {
    const [dnsPort, smtpPort, greyPort] = [await freePort(), await freePort(), await freePort()];
    await writeZones(folder, dnsPort);
    await writePostfix(folder, smtpPort, greyPort);
    await mkdir(join(folder, 'grey'));
    spawnSync('chown', ['postgrey', join(folder, 'grey')]);
    await Promise.all([
      listens(start('named', '-g', '-c', join(folder, 'named.conf')), '127.0.0.1', dnsPort),
      listens(start('postgrey', `--inet=127.0.0.1:${greyPort}`, '--delay=1', `--dbdir=${join(folder, 'grey')}`), '127.0.0.1', greyPort),
      listens(start('postfix', '-c', join(folder, 'postfix'), 'start-fg'), HOSTS.plain, smtpPort),
    ]);
    await serves(`127.0.0.1:${dnsPort}`);
    return { dnsServer: `127.0.0.1:${dnsPort}`, smtpPort, end };
  } catch (error) {
    const said = await Promise.all(['servers.log', 'mail.log'].map((name) => readFile(join(folder, name), 'utf8').catch(() => '')));
    await end();
    throw new Error(`the mail servers do not start: ${said.join('\n')}`, { cause: error });
  }
}

async function writeZones(folder: string, port: number): Promise<void> {
  await writeFile(
    join(folder, 'named.conf'),
    `options { directory "${folder}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no;
  dnssec-validation no; notify no; pid-file "${folder}/named.pid"; session-keyfile "${folder}/session.key"; };
controls { };
zone "test" { type primary; file "test.zone"; };
zone "broken.test" { type primary; file "missing.zone"; };
`,
  );
  const hosts = Object.entries(HOSTS).map(([name, address]) => `mx-${name} IN A ${address}`);
  const many = Array.from({ length: 80 }, (_, n) => `many IN MX ${n + 10} a-rather-long-name-of-a-mail-host-${n}.many.test.`);
  await writeFile(
    join(folder, 'test.zone'),
    `$TTL 300
@ IN SOA ns.test. hostmaster.test. 1 3600 600 86400 300
@ IN NS ns.test.
ns IN A 127.0.0.1
${hosts.join('\n')}
plain IN MX 20 mx-blocking.test.
plain IN MX 10 mx-plain.test.
anybody IN MX 10 mx-plain.test.
grey IN MX 10 mx-plain.test.
encrypted IN MX 10 mx-encrypted.test.
blocking IN MX 10 mx-blocking.test.
deputy IN MX 5 mx-dead.test.
deputy IN MX 10 mx-plain.test.
implicit IN A ${HOSTS.plain}
null-mx IN MX 0 .
text-alone IN TXT "no mail here"
delegated IN NS ns.elsewhere.example.
${many.join('\n')}
many IN MX 5 mx-plain.test.
*.many IN A ${HOSTS.dead}
`,
  );
}

async function writePostfix(folder: string, smtpPort: number, greyPort: number): Promise<void> {
  const config = join(folder, 'postfix');
  for (const name of ['postfix', 'queue', 'data']) await mkdir(join(folder, name));
  spawnSync('chown', ['postfix', join(folder, 'data')]);
  await writeFile(join(folder, 'tls.pem'), KEY + CERTIFICATE, { mode: 0o600 });
  const domains = ['plain', 'anybody', 'grey', 'encrypted', 'deputy', 'implicit', 'many', 'blocking'].map((name) => `${name}.test`);
  const mailboxes = [
    'jane@plain.test',
    'full@plain.test',
    'off@plain.test',
    'refused@plain.test',
    'jane@grey.test',
    'jane@encrypted.test',
    '用户@encrypted.test',
    'jane@deputy.test',
    'jane@implicit.test',
    'jane@many.test',
    'jane@blocking.test',
  ];
  const refused = [
    'full@plain.test = 452 4.2.2 mailbox full',
    'off@plain.test = 550 5.2.1 mailbox disabled',
    'refused@plain.test = 554 5.7.1 not from you',
    'grey.test = greylisting',
  ];
  const table = (entries: readonly string[]): string => `inline:{ ${entries.map((entry) => `{ ${entry} }`).join(', ')} }`;
  await writeFile(
    join(config, 'main.cf'),
    `compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
maillog_file = ${folder}/mail.log
maillog_file_prefixes = ${folder}
inet_interfaces = all
inet_protocols = ipv4
myhostname = mx-plain.test
mydestination =
mynetworks = 192.0.2.1/32
virtual_mailbox_domains = ${domains.join(', ')}
virtual_mailbox_maps = ${table([...mailboxes.map((mailbox) => `${mailbox} = x`), '@anybody.test = x'])}
virtual_transport = discard
smtpd_relay_restrictions = reject_unauth_destination
smtpd_recipient_restrictions = reject_unlisted_recipient, check_recipient_access ${table(refused)}
smtpd_restriction_classes = greylisting
greylisting = check_policy_service inet:127.0.0.1:${greyPort}
smtpd_error_sleep_time = 0
smtpd_client_connection_count_limit = 3
`,
  );
  const smtpd = (address: string, ...options: string[]): string =>
    `${address}:${smtpPort} inet n - n - - smtpd${options.map((option) => ` -o ${option}`).join('')}`;
  await writeFile(
    join(config, 'master.cf'),
    `${smtpd(HOSTS.plain)}
${smtpd(HOSTS.blocking, 'smtpd_delay_reject=no', 'smtpd_client_restrictions=reject')}
${smtpd(HOSTS.encrypted, 'smtpd_tls_security_level=may', `smtpd_tls_chain_files=${folder}/tls.pem`)}
rewrite unix - - n - - trivial-rewrite
proxymap unix - - n - - proxymap
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
anvil unix - - n - 1 anvil
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
`,
  );
}

/** Resolves when `port` accepts connections. @throws when the server ends before, or takes too long */
async function listens(child: ChildProcess, host: string, port: number): Promise<void> {
  const until = performance.now() + STARTED_WITHIN_MS;
  while (performance.now() < until && child.exitCode === null && child.signalCode === null) {
    const socket = connect(port, host);
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      socket.destroy();
    }
  }
  throw new Error(`${child.spawnfile} does not listen on ${host}:${port}`);
}

/** BIND listens before it has read its zones. */
async function serves(dnsServer: string): Promise<void> {
  const dns = new Resolver({ timeout: 1_000, tries: 1 });
  dns.setServers([dnsServer]);
  const until = performance.now() + STARTED_WITHIN_MS;
  while (performance.now() < until) {
    try {
      await dns.resolveSoa('test');
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error('BIND does not serve its zone');
}
