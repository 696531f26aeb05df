import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { RCODE, readQuestion, writeAnswer, type Question } from '../../../src/service/mail-world/dns-message.ts';
import { Lane } from '../../../src/verification/dns/lane.ts';
import { LANES, platformResolver } from '../../../src/verification/dns/resolver.ts';

const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) await new Promise<void>((resolve) => socket.close(() => resolve()));
});

/** A DNS server on loopback; null is no answer. */
async function serve(answer: (question: Question) => Buffer | null, hear: (question: Question, from: RemoteInfo) => void = () => undefined): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const question = readQuestion(message);
    if (question === null) return;
    hear(question, from);
    const said = answer(question);
    if (said !== null) socket.send(said, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  sockets.push(socket);
  return `127.0.0.1:${socket.address().port}`;
}

const mx = (question: Question): Buffer => writeAnswer(question, RCODE.none, [{ type: 'mx', preference: 10, host: 'mx.a.test', ttlS: 60 }]);

describe('platformResolver', () => {
  it('loses no question, however many are asked at once: the buffers of UDP hold a few hundred', async () => {
    const server = await serve(mx);
    const resolver = platformResolver([server]);
    const found = await Promise.all(Array.from({ length: 3_000 }, (_, n) => resolver.mx(`d${n}.test`)));
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(['found']));
  });

  it('asks once more what is not answered in time, apart from the others; then it is a failure', async () => {
    const heard = new Map<string, number>();
    const server = await serve(
      (question) => (question.name === 'mute.test' || (question.name.startsWith('late') && heard.get(question.name) === 1) ? null : mx(question)),
      ({ name }) => void heard.set(name, (heard.get(name) ?? 0) + 1),
    );
    const resolver = platformResolver([server], { fast: { atOnce: 2, timeoutMs: 300 }, slow: { atOnce: 1, timeoutMs: 300 } });
    const names = ['mute.test', 'late1.test', 'late2.test', 'good1.test', 'good2.test'];
    const found = await Promise.all(names.map((name) => resolver.mx(name)));
    expect(found.map((lookup) => (lookup.kind === 'failed' ? lookup.detail : lookup.kind))).toEqual(['ETIMEOUT', 'found', 'found', 'found', 'found']);
    expect(names.map((name) => heard.get(name))).toEqual([2, 2, 2, 1, 1]);
  });

  it('what the server says is not asked again', async () => {
    let asked = 0;
    const server = await serve((question) => writeAnswer(question, RCODE.servfail, []), () => asked++);
    expect(await platformResolver([server]).mx('broken.test')).toEqual({ kind: 'failed', detail: 'ESERVFAIL' });
    expect(asked).toBe(1);
  });
});

it('a lane runs so many at once, in order, and goes on after one that throws', async () => {
  const lane = new Lane(2);
  const began: number[] = [];
  const ends: (() => void)[] = [];
  const all = Array.from({ length: 5 }, (_, n) =>
    lane.run(async () => {
      began.push(n);
      await new Promise<void>((resolve, reject) => ends.push(n === 0 ? () => reject(new Error('no')) : resolve));
      return n;
    }),
  );
  const settled = Promise.allSettled(all);
  for (const expected of [2, 3, 4, 5]) {
    await new Promise((resolve) => setImmediate(resolve));
    expect(began).toEqual(Array.from({ length: expected }, (_, n) => n));
    ends.shift()?.();
  }
  for (const end of ends) end();
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect(LANES.fast.atOnce + LANES.slow.atOnce).toBeLessThan(250);
});
