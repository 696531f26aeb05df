/** Ends connections without losing a request: a server that closes one while a request is on its way fails that request. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A busy client sends its next request within this time, milliseconds. */
const SILENT_MS = 2_000;

/**
 * Resolves when each connection that is open now is closed, or after two seconds. Connections left then are silent, or in the middle of an
 * answer. Meanwhile each answer must be the last one of its connection.
 */
export async function lastAnswers(sockets: ReadonlySet<Socket>, abort: AbortSignal): Promise<void> {
  const over = AbortSignal.any([abort, AbortSignal.timeout(SILENT_MS)]);
  await Promise.all([...sockets].map((socket) => once(socket, 'close', { signal: over }).catch(() => undefined)));
}

/** Closes connections that have sent no byte: no request is lost with them. Never rejects. */
export async function closeSilent(sockets: ReadonlySet<Socket>, abort: AbortSignal): Promise<void> {
  await sleep(SILENT_MS, undefined, { signal: abort, ref: false }).catch(() => undefined);
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
}
