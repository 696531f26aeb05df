/**
 * Problem documents for connections that never become a request of Fastify: bytes that Node cannot parse as HTTP, and requests that Node
 * would answer itself.
 */
import { STATUS_CODES, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { problem, PROBLEM_TYPE, ServiceError } from '../http/problem.ts';
import { ANONYMOUS_QUOTA, quotaHeadersOf } from '../accounts/token-bucket.ts';
import type { Limits } from './limits.ts';
import { pathOf } from '../http/request-path.ts';

const LATE = new ServiceError('request_timeout', 'the request did not arrive in time');

export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex, requestId: string, limits: Limits): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  refuseSocket(reason(error, limits), socket, unknown(requestId));
}

/** Whether a request did not arrive within the time of a complete request. */
export function isRequestTimeout({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT';
}

/** Answers a request whose body comes too slowly, and closes its connection. */
export function refuseLate({ raw, url, call }: Pick<FastifyRequest, 'raw' | 'url' | 'call'>): void {
  refuseSocket(LATE, raw.socket, { requestId: call.requestId, instance: pathOf(url), quota: quotaHeadersOf(call.charge) });
}

/**
 * CONNECT is refused like any other method. A request with an unknown expectation goes to Fastify, where `request-checks.ts` refuses it.
 */
export function answerOdd(server: Server, nextRequestId: () => string): void {
  server.on('connect', (_request, socket) =>
    refuseSocket(
      new ServiceError('method_not_allowed', 'this is no proxy', { headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE' } }),
      socket,
      unknown(nextRequestId()),
    ),
  );
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
}

/** The request as a refusal states it. */
interface Asked {
  readonly requestId: string;
  readonly instance: string;
  readonly quota: Readonly<Record<string, string>>;
}

/** Neither the path nor the key is known. */
function unknown(requestId: string): Asked {
  return { requestId, instance: '/', quota: ANONYMOUS_QUOTA };
}

function refuseSocket({ code, status, message, headers }: ServiceError, socket: Duplex, { requestId, instance, quota }: Asked): void {
  const body = problem(code, message, instance, requestId);
  const lines = Object.entries({
    ...quota,
    ...headers,
    'x-request-id': requestId,
    'x-credits-charged': '0',
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  // The connection ends even if the client does not read the answer.
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}

function reason(error: NodeJS.ErrnoException, { headerBytes, headers }: Limits): ServiceError {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new ServiceError(
      'headers_too_large',
      `there may be ${headers} headers at most, of ${headerBytes} bytes together with the path and query`,
    );
  if (isRequestTimeout(error)) return LATE;
  return new ServiceError('invalid_parameter', 'the request is not well-formed HTTP');
}
