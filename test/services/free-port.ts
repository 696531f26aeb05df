/** Ports for servers that must know their port before they listen, or listen on it again. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that a system assigns (from 32,768 on Linux, 49,152 elsewhere), and above the well-known ones. */
const FIRST = 20_000;
/** Ports reserved for each process that runs tests, and for the one that starts the shared servers. */
const EACH = 1_500;
const PROCESSES = 8;
const MINE = FIRST + EACH * (Number(process.env['VITEST_POOL_ID'] ?? 0) % PROCESSES);

/** A free loopback port that no other caller gets. It stays reserved before and after its use. */
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
