/** Answers that are read piece by piece. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { parseBaseUrl } from '../../src/client/base-url.ts';
import { FetchWire } from '../../src/client/library/fetch-wire.ts';
import { Pieces } from '../../src/client/pieces.ts';
import { Redactor } from '../../src/client/redactor.ts';
import { Transport, type TransportRequest, type Wire } from '../../src/client/transport.ts';
import { UndiciWire } from '../../src/client/undici-wire.ts';
import { cleanUp } from '../support/clean-up.ts';
import { answer, serve } from './servers.ts';

const REQUEST: TransportRequest = { method: 'GET', path: '/', headers: [], body: null };
const WIRES: readonly (readonly [string, (url: string) => Wire])[] = [
  ['undici', (url) => new UndiciWire(parseBaseUrl(url), { connections: null })],
  ['fetch', (url) => new FetchWire(parseBaseUrl(url), { fetch })],
];

function open(wire: Wire): Transport {
  const transport = new Transport(wire, { timeoutMs: 30_000, redactor: new Redactor(null) });
  cleanUp(() => transport.destroy());
  return transport;
}

it.each(WIRES)('with %s an answer of many small chunks arrives whole', async (_name, wireOf) => {
  const url = await serve((_request, response) => {
    for (let i = 0; i < 5_000; i++) response.write(`${i};${'x'.repeat(i % 300)}\n`);
    response.end();
  });
  const pieces = new Pieces();
  const done = open(wireOf(url)).send(REQUEST, { pieces });
  let text = '';
  for await (const piece of pieces) text += Buffer.from(piece).toString();
  expect(text.split('\n').slice(0, -1)).toEqual(Array.from({ length: 5_000 }, (_, i) => `${i};${'x'.repeat(i % 300)}`));
  expect(await done).toMatchObject({ status: 200, failure: null, text: '' });
});

it.each(WIRES)('with %s a reader that takes nothing stops the server, and one that leaves closes the connection', async (_name, wireOf) => {
  const gone = Promise.withResolvers<void>();
  const full = Promise.withResolvers<void>();
  let written = 0;
  const url = await serve((_request, response) => {
    response.on('close', () => gone.resolve());
    const more = (): void => {
      while (response.write(Buffer.alloc(65_536))) written += 65_536;
      full.resolve();
    };
    response.on('drain', more);
    more();
  });
  const pieces = new Pieces();
  const done = open(wireOf(url)).send(REQUEST, { pieces });
  for await (const piece of pieces) {
    expect(piece.length).toBeGreaterThan(0);
    await full.promise;
    for (let turn = 0; turn < 2_000; turn++) await nextTurn();
    break;
  }
  await gone.promise;
  expect(written).toBeLessThan(32 * 1024 * 1024);
  expect((await done).failure).toMatchObject({ code: 'aborted' });
});

it.each(WIRES)('with %s an error is answered as a whole, and brings no piece', async (_name, wireOf) => {
  const url = await serve((_request, response) => answer(response, { status: 429, body: '{"code":"slow_down"}' }));
  const pieces = new Pieces();
  const done = open(wireOf(url)).send(REQUEST, { pieces });
  for await (const _piece of pieces) throw new Error('a piece of an error');
  expect(await done).toMatchObject({ status: 429, failure: null, text: '{"code":"slow_down"}' });
});
