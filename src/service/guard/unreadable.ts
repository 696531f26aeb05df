/** Answers what Node could not read as HTTP at all, in the service's own words. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { problem, PROBLEM_TYPE, ServiceError } from '../errors.ts';
import type { Limits } from './limits.ts';

export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket, requestId: string, limits: Limits): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = reason(error, limits);
  const body = problem(refusal.code, refusal.message, '/', requestId);
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${requestId}\r\nx-credits-charged: 0\r\nconnection: close\r\n\r\n${body}`,
    // Who does not listen to it is not waited for.
    () => socket.destroy(),
  );
}

function reason({ code }: NodeJS.ErrnoException, { headerBytes, headers }: Limits): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ServiceError('headers_too_large', `there may be ${headers} headers at most, of ${headerBytes} bytes together`);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('request_timeout', 'the request did not arrive in time');
  return new ServiceError('invalid_parameter', 'the request is not well-formed HTTP');
}
