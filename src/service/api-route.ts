/** What happens around every endpoint: idempotency, the balance, the work, the charge, and remembering the answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDamage } from '../sqlite/system-code.ts';
import type { Answer, Call, Endpoint, ServiceContext } from './context.ts';
import { problem, PROBLEM_TYPE, ServiceError } from './errors.ts';
import { isIdempotencyKey, isSettled, type Begun, type Given, type Ticket } from './idempotency.ts';
import type { ActiveKey } from './key-ring.ts';
import type { FirstAnswer } from './store/answer-rows.ts';
import { suppressedPerson } from './suppressed-result.ts';
import { unwritten } from './unwritten.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Seconds after which a request that is still in flight elsewhere is worth asking for again. */
const IN_FLIGHT_RETRY_S = '1';

/** In which media type a request is answered, where it is no problem. */
type TypeOf = (request: FastifyRequest) => string;
const ALWAYS_JSON: TypeOf = () => JSON_TYPE;

/**
 * Makes a Fastify handler of an endpoint. `least` is what a key must have left, so that the work is begun at all; 0 for what is free.
 * Nearly all is answered at once, and then without a promise: the handling of promises would cost as much as the look-up.
 */
export function apiRoute(context: ServiceContext, endpoint: Endpoint, least: 0 | 1 = 1, typeOf: TypeOf = ALWAYS_JSON): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> | undefined {
  return (request, reply) => {
    const ticket = claim(context, request, request.call.key as ActiveKey);
    if (ticket !== null && 'answer' in ticket) return sendReplay(ticket.answer, request, reply);
    if (ticket !== null) request.call.keep = (answer) => {
      if (!context.idempotency.write(ticket, firstOf(answer, typeOf(request)))) throw inFlight();
    };
    const finish = (found: Outcome): FastifyReply => sendFirst(context, ticket, found, request, reply, typeOf);
    const fail = (error: unknown): never => {
      // What was begun and came to no answer settles nothing; that it costs nothing either is seen to where every refusal is.
      if (ticket !== null) context.idempotency.finish(ticket, null);
      throw error;
    };
    let found: Outcome | Promise<Outcome>;
    try {
      found = perform(context, endpoint, request, least);
    } catch (error) {
      return fail(error);
    }
    if (found instanceof Promise) return found.then(finish, fail);
    finish(found);
    return undefined;
  };
}

/** What came of a request for good. */
type Outcome = Answer | ServiceError;

function sendFirst(context: ServiceContext, ticket: Ticket | null, found: Outcome, request: FastifyRequest, reply: FastifyReply, typeOf: TypeOf): FastifyReply {
  const { call } = request;
  if (found instanceof ServiceError) {
    const text = problemText(found, request);
    if (ticket !== null) remember(context, call, ticket, { status: found.status, headers: { ...found.headers, 'content-type': PROBLEM_TYPE }, text, named: NOBODY, secret: null });
    return sendProblem(reply, found, text);
  }
  const { status, text, headers } = found;
  const type = typeOf(request);
  if (ticket !== null) remember(context, call, ticket, firstOf(found, type));
  if (headers !== undefined) void reply.headers(headers);
  return send(reply, call, status, text, type);
}

const NOBODY = {};

/** An answer as it is kept. */
function firstOf({ status, text, headers, named = NOBODY, secret }: Answer, type: string): Given {
  return { status, headers: { ...headers, 'content-type': type }, text, named, secret: secret ?? null };
}

/** Does the work, and books what it costs. @throws ServiceError when the key has not that much left */
function perform(context: ServiceContext, endpoint: Endpoint, request: FastifyRequest, least: 0 | 1): Outcome | Promise<Outcome> {
  // An empty account is refused before any work; what the work then costs must be there as well.
  const delivers = !isHead(request);
  afford(context, request.call.key as ActiveKey, delivers ? least : 0);
  if (least > 0) refuseUnpaid(context, request.call.key as ActiveKey);
  bookCall(context, request);
  const book = (found: Outcome): Outcome => {
    if (!(found instanceof ServiceError)) bookCredits(context, request, delivers ? found.credits : 0);
    return found;
  };
  const found = attempt(endpoint, request);
  return found instanceof Promise ? found.then(book) : book(found);
}

/** Refuses what has to be paid for while that cannot be written, before mail servers are asked for it. @throws ServiceError */
function refuseUnpaid({ keys, journal }: Pick<ServiceContext, 'keys' | 'journal'>, key: ActiveKey): void {
  if (journal.hasNoDisk && keys.isCounted(key)) throw unwritten(journal.failure, 'charged');
}

/** Keeps a first answer. */
function remember({ idempotency }: ServiceContext, call: Call, ticket: Ticket, first: Given): void {
  idempotency.finish(ticket, first, () => call.undo?.());
  call.isLost = () => idempotency.isLost(ticket);
  onUndo(call, () => idempotency.forget(ticket));
}

/** Books one call, or `calls` that came as one. @throws ServiceError when the key has not as many left */
export function bookCall({ keys }: Pick<ServiceContext, 'keys'>, { call }: FastifyRequest, calls = 1): void {
  const key = call.key as ActiveKey;
  if (!keys.mayCall(key, calls)) throw spent();
  keys.book(key, { calls });
  onUndo(call, () => keys.book(key, { calls: -calls }));
}

/** Books what an answer costs. @throws ServiceError when the key has not that much left */
export function bookCredits(context: Pick<ServiceContext, 'keys'>, { call }: FastifyRequest, credits: number): void {
  const key = call.key as ActiveKey;
  afford(context, key, credits);
  context.keys.book(key, { credits });
  call.credits = credits;
  onUndo(call, () => {
    context.keys.book(key, { credits: -credits });
    call.credits = 0;
  });
}

/** Adds to what is taken back should the answer not be sent. */
export function onUndo(call: Call, undo: () => void): void {
  const before = call.undo;
  call.undo = () => {
    call.undo = null;
    before?.();
    undo();
  };
}

/** What is asked for without its body has not been delivered: a call like any other, and no credits (RFC 9110 9.3.2). */
export function isHead({ method }: FastifyRequest): boolean {
  return method === 'HEAD';
}

/** Takes the request's idempotency key: a ticket when it is the first, the first answer when it is not, null when it has none. @throws ServiceError when there is no answer to repeat (any more) */
function claim(context: ServiceContext, request: FastifyRequest, key: ActiveKey): Ticket | { answer: FirstAnswer } | null {
  // Reading is harmless as often as one likes (RFC 9110 9.2.2).
  if (request.method !== 'POST') return null;
  const header = request.headers['idempotency-key'];
  if (header === undefined) return null;
  if (typeof header !== 'string' || !isIdempotencyKey(header)) {
    const detail = 'Idempotency-Key must be 1 to 255 printable ASCII characters';
    throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'Idempotency-Key', code: 'format', detail }] });
  }
  request.call.idempotent = true;
  const begun = begin(context, key, header, request);
  switch (begun.kind) {
    case 'new':
      // An answer that has to be kept cannot be given where nothing can be.
      if (context.journal.hasNoDisk) {
        context.idempotency.finish(begun.ticket, null);
        throw unwritten(context.journal.failure, 'charged');
      }
      return begun.ticket;
    case 'replay':
      request.call.replayed = true;
      return begun;
    case 'erased':
      request.call.replayed = true;
      throw suppressedPerson({ 'idempotency-replayed': 'true' });
    case 'dropped':
      throw new ServiceError('idempotency_mismatch', 'the answer to the first request with this Idempotency-Key is not kept: it was too long, or had to make room for newer ones. Nothing was done or charged again; a new key does and charges it anew');
    case 'in_flight':
      throw inFlight();
    case 'mismatch':
      throw new ServiceError('idempotency_mismatch', 'this Idempotency-Key was used for another request within the last 24 hours; take a new one');
    default:
      return begun satisfies never;
  }
}

function begin({ idempotency, health }: ServiceContext, key: ActiveKey, header: string, { url, call }: FastifyRequest): Begun {
  try {
    return idempotency.begin(key.id, header, url, call.raw);
  } catch (error) {
    if (isDamage(error)) health.damaged('idempotency', error);
    throw error;
  }
}

function inFlight(): ServiceError {
  return new ServiceError('idempotency_in_flight', 'the first request with this Idempotency-Key is not answered yet', { headers: { 'retry-after': IN_FLIGHT_RETRY_S } });
}

/** @throws ServiceError when the key has not that much left */
export function afford({ keys }: Pick<ServiceContext, 'keys'>, key: ActiveKey, credits: number): void {
  if (!keys.affords(key, credits)) throw spent();
}

function spent(): ServiceError {
  return new ServiceError('insufficient_credits', 'this key has no calls or credits left for this request');
}

function sendReplay({ status, headers, text }: FirstAnswer, request: FastifyRequest, reply: FastifyReply): undefined {
  const { 'content-type': type = JSON_TYPE, ...more } = headers;
  send(reply.headers({ ...more, 'idempotency-replayed': 'true' }), request.call, status, text, type);
}

/** Runs the endpoint; what it refuses for good is an answer too. What may work later, and a bug, passes: nothing was done. */
function attempt(endpoint: Endpoint, request: FastifyRequest): Outcome | Promise<Outcome> {
  const settled = (error: unknown): ServiceError => {
    if (error instanceof ServiceError && isSettled(error.status)) return error;
    throw error;
  };
  try {
    const answer = endpoint(request.body, request);
    return answer instanceof Promise ? answer.catch(settled) : answer;
  } catch (error) {
    return settled(error);
  }
}

function send(reply: FastifyReply, call: Call, status: number, text: string, type: string): FastifyReply {
  if (call.fate?.kind === 'drop_after') {
    reply.hijack();
    reply.raw.destroy();
    return reply;
  }
  if (status === 304 || status === 204) return reply.code(status).send();
  return reply
    .code(status)
    .header('content-type', type)
    // Fastify says of a text which character set it is in, and a problem has none.
    .send(type === PROBLEM_TYPE ? Buffer.from(text) : text);
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
