import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { openServer, readRedisUri } from '../../src/redis/client.ts';

test('a connection may fail twice: after refusing its certificate, TLS reports an alert of the server', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const client = openServer(readRedisUri(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`));
  onTestFinished(() => client.disconnect());
  await once(client, 'connect');
  const told: string[] = [];
  client.on('error', ({ message }: Error) => told.push(message));
  client.stream.emit('error', new Error('first'));
  client.stream.emit('error', new Error('second'));
  expect(told).toEqual(['first']);
});
