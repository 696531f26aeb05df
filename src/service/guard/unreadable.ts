/** Answers what never becomes a request, in the service's own words: what Node could not read as HTTP at all, and what it would answer itself. */
import { STATUS_CODES, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { pathOf } from '../api-route.ts';
import { problem, PROBLEM_TYPE, ServiceError } from '../errors.ts';
import { NOBODY, quotaOf } from '../quota.ts';
import type { Limits } from './limits.ts';

const LATE = new ServiceError('request_timeout', 'the request did not arrive in time');

export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex, requestId: string, limits: Limits): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  refuseSocket(reason(error, limits), socket, unknown(requestId));
}

/** Whether it is that a request did not arrive in the time that a whole one has. */
export function isLate({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT';
}

/** Answers a request whose body comes too slowly, and closes its connection. */
export function refuseLate({ raw, url, call }: Pick<FastifyRequest, 'raw' | 'url' | 'call'>): void {
  refuseSocket(LATE, raw.socket, { requestId: call.requestId, instance: pathOf(url), quota: quotaOf(call) });
}

/** A tunnel is refused like any other method. An expectation that nobody knows comes as a request, which is refused in the service's own words. */
export function answerOdd(server: Server, nextRequestId: () => string): void {
  server.on('connect', (_request, socket) => refuseSocket(new ServiceError('method_not_allowed', 'this is no proxy', { headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE' } }), socket, unknown(nextRequestId())));
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
}

/** What an answer says of the request. */
interface Asked {
  readonly requestId: string;
  readonly instance: string;
  readonly quota: Readonly<Record<string, string>>;
}

/** Nobody knows what was asked for, or by whom. */
function unknown(requestId: string): Asked {
  return { requestId, instance: '/', quota: NOBODY };
}

function refuseSocket({ code, status, message, headers }: ServiceError, socket: Duplex, { requestId, instance, quota }: Asked): void {
  const body = problem(code, message, instance, requestId);
  const lines = Object.entries({ ...quota, ...headers, 'x-request-id': requestId, 'x-credits-charged': '0', 'content-type': PROBLEM_TYPE, 'content-length': Buffer.byteLength(body), connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  // Who does not listen to it is not waited for.
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}

function reason(error: NodeJS.ErrnoException, { headerBytes, headers }: Limits): ServiceError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return new ServiceError('headers_too_large', `there may be ${headers} headers at most, of ${headerBytes} bytes together with the path and query`);
  if (isLate(error)) return LATE;
  return new ServiceError('invalid_parameter', 'the request is not well-formed HTTP');
}
