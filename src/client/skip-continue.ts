/**
 * Drops each `100 Continue` that nobody asked for, as RFC 9110 (15.2) demands. undici takes it for a broken answer and ends the connection
 * (nodejs/undici, issue 197): a request that was charged would be sent again. It reads other 1xx answers by itself.
 */
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** The beginning of such an answer. */
const BEGINNING = 'HTTP/1.1 100';
const END = '\r\n\r\n';
/** A longer one is left to undici. */
const MAX_BYTES = 16 * 1024;

/** A connector whose sockets drop `100 Continue`. */
export function skippingContinue(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      if (result[0] === null) skipContinue(result[1]);
      callback(...result);
    });
}

/** undici reads with `read()` alone. A socket carries one request at a time, so the first bytes after a write begin its answer. */
function skipContinue(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  const write = socket.write.bind(socket);
  let isBeginning = false;
  let held: Buffer | null = null;
  socket.write = (...args: unknown[]): boolean => {
    isBeginning = true;
    return Reflect.apply(write, socket, args) as boolean;
  };
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size);
      if (chunk === null || !isBeginning) return chunk;
      const rest: Buffer = afterContinue(held === null ? chunk : Buffer.concat([held, chunk]));
      isBeginning = rest.length < MAX_BYTES && (startsContinue(rest) || BEGINNING.startsWith(beginningOf(rest)));
      if (!isBeginning) {
        held = null;
        return rest;
      }
      held = rest;
    }
  };
}

function afterContinue(bytes: Buffer): Buffer {
  let rest = bytes;
  while (startsContinue(rest)) {
    const end = rest.indexOf(END);
    if (end < 0) break;
    rest = rest.subarray(end + END.length);
  }
  return rest;
}

function startsContinue(bytes: Buffer): boolean {
  return beginningOf(bytes) === BEGINNING;
}

function beginningOf(bytes: Buffer): string {
  return bytes.toString('latin1', 0, BEGINNING.length);
}
