/** Where the service listens: at an address, or on a socket that another process made. */
import type { Server } from 'node:http';
import type { FastifyInstance, FastifyListenOptions } from 'fastify';
import { ConfigError } from '../../util/errors.ts';

interface ListenAddress {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** @param where an address, or the descriptor of a socket that listens already. @throws ConfigError when it cannot be listened on */
export async function listen(app: FastifyInstance, where: ListenAddress | number): Promise<void> {
  const isSocket = typeof where === 'number';
  try {
    // Fastify knows nothing of descriptors, and hands what it is given to Node, which looks for one first.
    await app.listen(isSocket ? ({ fd: where, host: '127.0.0.1', port: 0 } as FastifyListenOptions) : where);
  } catch (error) {
    await app.close();
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'the port is taken' : code === 'EACCES' ? 'not permitted' : (error as Error).message;
    throw new ConfigError(
      'cannot_listen',
      `cannot listen on ${isSocket ? `the socket that was handed over (descriptor ${where})` : `${where.host}:${where.port}`}: ${why}`,
      {
        hint: 'pass another --port (0: any free one) or --host',
        cause: error,
      },
    );
  }
}

/** Where a client on this machine reaches it. */
export function addressOf(server: Server): { readonly port: number; readonly url: string } {
  const address = server.address();
  const { address: host, port } = typeof address === 'object' && address !== null ? address : { address: '127.0.0.1', port: 0 };
  return { port, url: `http://${reachable(host)}:${port}` };
}

/**
 * The descriptor of the socket that it listens on, which a child process can inherit; null where the system has none. Node has no other
 * name for it.
 */
export function descriptorOf(server: Server): number | null {
  const { _handle: handle } = server as unknown as { readonly _handle: { readonly fd?: number } | null };
  return handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : null;
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
