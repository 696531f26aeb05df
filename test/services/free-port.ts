/** Ports for what must know its own before it listens, or listens on it again. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that a system gives to whoever asks for any (32,768 and more on Linux, 49,152 elsewhere), and above those that have names. */
const FIRST = 20_000;
/** Each process that runs tests has as many of its own, and so has the one that starts the servers that all share. */
const EACH = 1_500;
const PROCESSES = 8;
const MINE = FIRST + EACH * (Number(process.env['VITEST_POOL_ID'] ?? 0) % PROCESSES);

/** A port of the loopback interface that nobody listens on, and that nobody else is given: it stays free until it is used, and while it is not. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = MINE + Math.floor(Math.random() * EACH);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
