/** Limits open connections, in all and of one address. A connection over the limit is closed before it is read. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from './limits.ts';

export interface Connections {
  readonly open: number;
  /** Closed at once, since the start. */
  readonly refused: number;
  readonly sockets: ReadonlySet<Socket>;
}

export function guardConnections(server: Server, limits: Pick<Limits, 'connections' | 'connectionsPerAddress'>): Connections {
  const byAddress = new Map<string, number>();
  const sockets = new Set<Socket>();
  const counts = { open: 0, refused: 0, sockets };
  server.maxConnections = limits.connections;
  server.on('drop', () => void counts.refused++);
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const known = byAddress.get(address) ?? 0;
    if (known >= limits.connectionsPerAddress && !isLoopback(address)) {
      counts.refused++;
      socket.destroy();
      return;
    }
    counts.open++;
    sockets.add(socket);
    byAddress.set(address, known + 1);
    socket.once('close', () => {
      counts.open--;
      sockets.delete(socket);
      const left = (byAddress.get(address) ?? 1) - 1;
      if (left === 0) byAddress.delete(address);
      else byAddress.set(address, left);
    });
  });
  return counts;
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
}
