/** The PHP library: many calls at once, and certificates of the environment. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { lackingPhp } from '../../clients/conformance/php.ts';
import { CERTIFICATE, KEY } from '../services/certificate.ts';
import { available } from '../services/debian.ts';
import { cleanUp } from '../support/clean-up.ts';

const run = promisify(execFile);
const LONGEST_MS = 60_000;
let isThere = false;

beforeAll(async () => {
  const lacks = await lackingPhp();
  isThere = available(lacks === null, 'the PHP library', lacks ?? '');
});

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-php-'));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function printed(code: string, env: Record<string, string>): Promise<string> {
  const folder = await temporary();
  const file = join(folder, 'program.php');
  await writeFile(file, `<?php\nrequire '${resolve('clients/php/autoload.php')}';\n${code}`);
  const { stdout, stderr } = await run('php', ['-d', 'error_reporting=-1', '-d', 'display_errors=stderr', file], {
    env: { ...process.env, MILLRACE_API_KEY: 'a-key', ...env },
    timeout: LONGEST_MS,
  });
  return stdout + stderr;
}

function addressOf(server: { address(): AddressInfo | string | null }, scheme: string): string {
  return `${scheme}://localhost:${(server.address() as AddressInfo).port}`;
}

async function listen(server: Server): Promise<void> {
  server.listen(0, 'localhost');
  await once(server, 'listening');
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
}

it('200 calls run twenty at a time', async ({ skip }) => {
  if (!isThere) skip();
  const waiting: ServerResponse[] = [];
  // Nobody is answered until twenty calls are there.
  const server = createServer((request, response) => {
    request.resume();
    if (waiting.push(response) < 20) return;
    for (const one of waiting.splice(0)) one.setHeader('content-type', 'application/json').end('{"name":"Acme"}');
  });
  await listen(server);
  const code = `
$client = new Millrace\\Client(timeout: 20.0, maxAttempts: 1);
$calls = array_fill(0, 200, fn () => $client->company('acme.example')->name);
echo json_encode(array_count_values($client->concurrently($calls, atOnce: 20)));
`;
  expect(await printed(code, { MILLRACE_BASE_URL: addressOf(server, 'http') })).toBe('{"Acme":200}');
});

it('SSL_CERT_FILE names the certificates that are trusted', async ({ skip }) => {
  if (!isThere) skip();
  const server = createTlsServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json').end('{"name":"Acme"}');
  });
  await listen(server);
  const code = `
$client = new Millrace\\Client(timeout: 20.0, maxAttempts: 1);
try {
    echo $client->company('acme.example')->name;
} catch (Millrace\\Exception\\CallException $e) {
    echo $e->errorCode;
}
`;
  const caFile = join(await temporary(), 'ca.pem');
  await writeFile(caFile, CERTIFICATE);
  const env = { MILLRACE_BASE_URL: addressOf(server, 'https') };
  expect(await printed(code, { ...env, SSL_CERT_FILE: caFile })).toBe('Acme');
  expect(await printed(code, { ...env, SSL_CERT_FILE: '' })).toBe('network');
});
