/** The certificates of a provider. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer as createProxy } from 'node:http';
import { createServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ProviderTls } from '../../../src/providers/compiled-provider.ts';
import { CERTIFICATE, KEY } from '../../services/certificate.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { declaredClient } from './declared.ts';

const NO_FILES: ProviderTls = { caFile: null, certFile: null, keyFile: null };
const BODY = '{"email":"a@x.example"}';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-tls-'));
  cleanUp(() => rmSync(folder, { recursive: true }));
});

function fileOf(text: string): string {
  const file = join(folder, `${text.length}.pem`);
  writeFileSync(file, text);
  return file;
}

/** A provider that says whether it was shown a certificate that it trusts. */
async function serveTls(): Promise<number> {
  const options = { key: KEY, cert: CERTIFICATE, ca: CERTIFICATE, requestCert: true, rejectUnauthorized: false };
  const server = createServer(options, ({ socket }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ name: (socket as TLSSocket).authorized ? 'known' : 'stranger' }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const call = async (url: string, tls: ProviderTls | null): Promise<unknown> =>
  declaredClient(url, { operations: { enrich: {} }, tls }).callEnrich(BODY);

describe('a provider with its own authority', () => {
  it('an authority is trusted by the definition that names it, and by no other', async () => {
    const url = `https://127.0.0.1:${await serveTls()}`;
    const caFile = fileOf(CERTIFICATE);
    expect(await call(url, { ...NO_FILES, caFile })).toMatchObject({ kind: 'ok', value: { record: { name: 'stranger' } } });
    expect(await call(url, null)).toMatchObject({ kind: 'retryable', fault: 'untrusted_certificate' });
    expect(await call(url, NO_FILES)).toMatchObject({ kind: 'retryable', fault: 'untrusted_certificate' });
  });

  it('a provider is shown the certificate that the definition names', async () => {
    const tls = { caFile: fileOf(CERTIFICATE), certFile: fileOf(CERTIFICATE), keyFile: fileOf(KEY) };
    const result = await call(`https://127.0.0.1:${await serveTls()}`, tls);
    expect(result).toMatchObject({ kind: 'ok', value: { record: { name: 'known' } } });
  });

  it('an authority is trusted through a tunnel of a proxy, too', async () => {
    const port = await serveTls();
    vi.stubEnv('https_proxy', await serveTunnel(port));
    vi.stubEnv('no_proxy', '');
    cleanUp(() => void vi.unstubAllEnvs());
    // The authority is known, so that only the name on the certificate is wrong.
    const caFile = fileOf(CERTIFICATE);
    expect(await call('https://service.test', { ...NO_FILES, caFile })).toMatchObject({ fault: 'foreign_certificate' });
    expect(await call('https://service.test', null)).toMatchObject({ fault: 'untrusted_certificate' });
  });
});

/** A proxy whose tunnels all lead to one port. */
async function serveTunnel(port: number): Promise<string> {
  const server = createProxy();
  server.on('connect', (_request, socket) => {
    const upstream = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
    upstream.pipe(socket).pipe(upstream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a file of certificates', () => {
  const opening =
    (tls: Partial<ProviderTls>): (() => unknown) =>
    () =>
      declaredClient('https://127.0.0.1:1', { operations: {}, tls: { ...NO_FILES, ...tls } });

  it('a file that is missing, too large or a folder is refused when the client opens, with its key and its name', () => {
    const large = fileOf('x');
    truncateSync(large, 5 * 1024 * 1024);
    const none = join(folder, 'none.pem');
    expect(opening({ caFile: none })).toThrow(`tls.caFile: ${none} does not exist`);
    expect(opening({ certFile: large })).toThrow(`tls.certFile: ${large} is larger than 4194304 bytes`);
    expect(opening({ keyFile: folder })).toThrow(`tls.keyFile: ${folder} is not a regular file`);
  });

  it('a file without a certificate is refused when the client opens', () => {
    expect(opening({ caFile: fileOf('hello') })).toThrow(/^tls\.caFile: .* is not a PEM file/);
  });
});
