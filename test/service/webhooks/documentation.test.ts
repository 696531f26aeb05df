/** The receiver of docs/webhooks.md accepts deliveries of the service, and survives other requests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { newSecret, secretText } from '../../../src/service/webhooks/secrets.ts';
import { signedHeaders } from '../../../src/util/signed-headers.ts';
import { cleanUp } from '../../support/clean-up.ts';

const page = await readFile(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');
const SAMPLE = /```js\n([^]*?)```/.exec(page)?.[1] ?? '';
const BODY = JSON.stringify({
  type: 'funding.round',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { company: 'Société Générale 株式会社' },
});

/** The receiver of the page in its own process. `lines` is its output. */
async function receiver(secret: Uint8Array): Promise<{ readonly port: number; readonly lines: AsyncIterator<string> }> {
  // The script also prints its port, which the page leaves out.
  const script = SAMPLE.replace(/\.listen\(.*\);/, ".listen(0, '127.0.0.1', function () { console.log(this.address().port); });");
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, WEBHOOK_SECRET: secretText(secret) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanUp(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { port: Number((await lines.next()).value), lines };
}

/**
 * Sends a delivery with its body cut at the given offsets. Each piece follows when the previous one was sent. Resolves with the status;
 * null when there was no answer.
 */
async function send(
  port: number,
  headers: Readonly<Record<string, string>>,
  body: string,
  cuts: readonly number[] = [],
): Promise<number | null> {
  const socket: Socket = connect(port, '127.0.0.1').setNoDelay();
  const bytes = Buffer.from(body);
  const head = [
    `POST / HTTP/1.1`,
    'host: receiver',
    'connection: close',
    `content-length: ${bytes.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ].join('\r\n');
  let answer = '';
  socket.on('data', (chunk) => void (answer += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  socket.write(Buffer.from(`${head}\r\n\r\n`, 'latin1'));
  let from = 0;
  for (const to of [...cuts, bytes.length]) {
    await new Promise((resolve) => void socket.write(bytes.subarray(from, to), resolve));
    from = to;
  }
  await once(socket, 'close');
  const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1];
  return status === undefined ? null : Number(status);
}

it('the receiver in the docs accepts a delivery that its secret signed, however the body is cut', async () => {
  const secret = newSecret();
  const { port, lines } = await receiver(secret);
  const headers = signedHeaders([newSecret(), secret], 'msg_1', Date.now(), BODY);
  const within = [...Buffer.from(BODY).entries()].filter(([, byte]) => byte >> 6 === 2).map(([at]) => at);
  expect(within.length).toBeGreaterThan(5);
  expect(await send(port, headers, BODY, within)).toBe(204);
  expect((await lines.next()).value).toBe('msg_1 funding.round');
});

it('the receiver in the docs refuses wrong signatures, bodies, ids and times, and survives half a request', async () => {
  const secret = newSecret();
  const { port, lines } = await receiver(secret);
  const headers = signedHeaders([secret], 'msg_1', Date.now(), BODY);
  const { 'webhook-signature': _signature, ...unsigned } = headers;
  expect(await send(port, unsigned, BODY)).toBe(401);
  expect(await send(port, signedHeaders([newSecret()], 'msg_1', Date.now(), BODY), BODY)).toBe(401);
  expect(await send(port, headers, BODY.replace('funding', 'hunting'))).toBe(401);
  expect(await send(port, { ...headers, 'webhook-id': 'msg_2' }, BODY)).toBe(401);
  expect(await send(port, signedHeaders([secret], 'msg_1', Date.now() - 3_600_000, BODY), BODY)).toBe(401);
  expect(await send(port, { ...headers, 'webhook-timestamp': 'now' }, BODY)).toBe(401);
  expect(await send(port, { ...headers, 'webhook-signature': 'é'.repeat(47) }, BODY)).toBe(401);
  // The connection is reset in the middle of the request.
  const socket = connect(port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: receiver\r\ncontent-length: 10\r\n\r\nhalf', () => void socket.resetAndDestroy());
  await once(socket, 'close');
  expect(await send(port, headers, BODY)).toBe(204);
  expect((await lines.next()).value).toBe('msg_1 funding.round');
});
