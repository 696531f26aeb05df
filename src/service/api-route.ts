/** What happens around every endpoint: idempotency, the balance, the work, the charge, and remembering the answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Answer, Call, Endpoint, ServiceContext } from './context.ts';
import { problem, PROBLEM_TYPE, ServiceError } from './errors.ts';
import { isIdempotencyKey, isSettled, type FirstAnswer, type Ticket } from './idempotency.ts';
import type { ActiveKey } from './key-ring.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Seconds after which a request that is still in flight elsewhere is worth asking for again. */
const IN_FLIGHT_RETRY_S = '1';

/** Makes a Fastify handler of an endpoint. `least` is what a key must have left, so that the work is begun at all; 0 for what is free. */
export function apiRoute(context: ServiceContext, endpoint: Endpoint, least: 0 | 1 = 1): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const { call } = request;
    const key = call.key as ActiveKey;
    const ticket = claim(context, request, key);
    if (ticket !== null && 'answer' in ticket) return sendReplay(endpoint, ticket.answer, request, reply);
    let first: FirstAnswer | null = null;
    try {
      // An empty account is refused before any work; what the work then costs must be there as well.
      afford(context, key, least);
      const answer = await attempt(endpoint, request);
      if (answer instanceof ServiceError) {
        context.keys.charge(key, 0);
        const text = problemText(answer, request);
        if (isSettled(answer.status)) first = { kind: 'text', status: answer.status, text };
        return sendProblem(reply, answer, text);
      }
      afford(context, key, answer.credits);
      context.keys.charge(key, answer.credits);
      call.credits = answer.credits;
      first = answer.again ? { kind: 'again', status: answer.status } : { kind: 'text', status: answer.status, text: answer.text };
      return send(reply.headers(answer.headers ?? {}), call, answer.status, answer.text);
    } finally {
      if (ticket !== null) context.idempotency.finish(ticket, first);
    }
  };
}

/** Takes the request's idempotency key: a ticket when it is the first, the first answer when it is not, null when it has none. */
function claim(context: ServiceContext, request: FastifyRequest, key: ActiveKey): Ticket | { answer: FirstAnswer } | null {
  // Reading is harmless as often as one likes (RFC 9110 9.2.2).
  if (request.method !== 'POST') return null;
  const header = request.headers['idempotency-key'];
  if (header === undefined) return null;
  if (typeof header !== 'string' || !isIdempotencyKey(header)) {
    const detail = 'Idempotency-Key must be 1 to 255 printable ASCII characters';
    throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'Idempotency-Key', code: 'format', detail }] });
  }
  const begun = context.idempotency.begin(key.id, header, request.url, request.call.raw);
  switch (begun.kind) {
    case 'new':
      return begun.ticket;
    case 'replay':
      return begun;
    case 'in_flight':
      throw new ServiceError('idempotency_in_flight', 'the first request with this Idempotency-Key is not answered yet', {
        headers: { 'retry-after': IN_FLIGHT_RETRY_S },
      });
    case 'mismatch':
      throw new ServiceError('idempotency_mismatch', 'this Idempotency-Key was used for another request within the last 24 hours; take a new one');
    default:
      return begun satisfies never;
  }
}

/** @throws ServiceError when the key has not that much left */
export function afford({ keys }: Pick<ServiceContext, 'keys'>, key: ActiveKey, credits: number): void {
  if (!keys.affords(key, credits)) throw new ServiceError('insufficient_credits', 'this key has no calls or credits left for this request');
}

async function sendReplay(endpoint: Endpoint, answer: FirstAnswer, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  reply.header('idempotency-replayed', 'true');
  if (answer.kind === 'text') return send(reply, request.call, answer.status, answer.text);
  const again = await attempt(endpoint, request);
  if (again instanceof ServiceError) return sendProblem(reply, again, problemText(again, request));
  return send(reply.headers(again.headers ?? {}), request.call, again.status, again.text);
}

/** Runs the endpoint; what it refuses is an answer too. Anything else that it throws is a bug, and passes. */
async function attempt(endpoint: Endpoint, request: FastifyRequest): Promise<Answer | ServiceError> {
  try {
    return await endpoint(request.body, request);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

function send(reply: FastifyReply, call: Call, status: number, text: string): FastifyReply {
  if (call.fate?.kind === 'drop_after') {
    reply.hijack();
    reply.raw.destroy();
    return reply;
  }
  if (status === 304) return reply.code(status).send();
  return reply
    .code(status)
    .header('content-type', status >= 400 ? PROBLEM_TYPE : JSON_TYPE)
    .send(Buffer.from(text));
}

export function problemText(error: ServiceError, request: FastifyRequest): string {
  return problem(error.code, error.message, pathOf(request.url), request.call.requestId, error.errors);
}

export function sendProblem(reply: FastifyReply, error: ServiceError, text: string): FastifyReply {
  return reply.code(error.status).headers(error.headers).header('content-type', PROBLEM_TYPE).send(Buffer.from(text));
}

/** The path of a request target, without its query. */
export function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
