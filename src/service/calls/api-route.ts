/** The steps around every endpoint: idempotency, the balance, the work, the charge, and the stored answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Charge } from '../accounts/charging.ts';
import { storeUnwritable } from '../accounts/store-refusals.ts';
import { settlesRequest, problem, PROBLEM_TYPE, ServiceError } from '../http/problem.ts';
import { pathOf } from '../http/request-path.ts';
import type { StoreHealth } from '../monitoring/store-health.ts';
import { suppressedPerson } from '../records/suppressed-result.ts';
import { isUnreadable } from '../../sqlite/system-code.ts';
import type { Journal } from '../store/journal.ts';
import type { FirstAnswer } from './answer-rows.ts';
import type { EndpointAnswer, Endpoint, StoreAnswer } from './endpoint.ts';
import { isIdempotencyKey, type ClaimResult, type StorableAnswer, type Idempotency, type IdempotencyClaim } from './idempotency.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

const NO_BODY = Buffer.alloc(0);

/** Seconds after which a request that is still in flight elsewhere is worth asking for again. */
const IN_FLIGHT_RETRY_S = '1';

export interface ApiRouteDependencies {
  readonly idempotency: Idempotency;
  readonly journal: Pick<Journal, 'failure' | 'isDiskUnusable'>;
  readonly health: Pick<StoreHealth, 'damaged'>;
}

interface ApiRouteOptions {
  /** A key without credits may call it too. */
  readonly isFree?: boolean;
  /** The media type of an answer that is no problem; default JSON. */
  readonly typeOf?: (request: FastifyRequest) => string;
}

type ApiRoute = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> | undefined;

const alwaysJson = (): string => JSON_TYPE;
const storesNothing: StoreAnswer = () => undefined;
const NO_OPTIONS: ApiRouteOptions = {};

/**
 * Makes a Fastify handler of an endpoint. Nearly every endpoint answers at once, and then without a promise: promises would cost as much
 * as the lookup itself.
 */
export function apiRoute(dependencies: ApiRouteDependencies, endpoint: Endpoint, options: ApiRouteOptions = NO_OPTIONS): ApiRoute {
  const { idempotency } = dependencies;
  const { isFree = false, typeOf = alwaysJson } = options;
  return (request, reply) => {
    const ticket = claim(dependencies, request);
    if (ticket !== null && 'answer' in ticket) return sendReplay(ticket.answer, request, reply);
    const storeAnswer: StoreAnswer =
      ticket === null
        ? storesNothing
        : (answer) => {
            if (!idempotency.write(ticket, toStored(answer, typeOf(request)))) throw inFlight();
          };
    const finish = (outcome: Outcome): FastifyReply => sendFirst(idempotency, ticket, outcome, request, reply, typeOf);
    const fail = (error: unknown): never => {
      // Nothing is settled, so the next request with this key is a first one. The error handler refunds the charge.
      if (ticket !== null) idempotency.finish(ticket, null);
      throw error;
    };
    let outcome: Outcome | Promise<Outcome>;
    try {
      outcome = perform(endpoint, request, storeAnswer, isFree);
    } catch (error) {
      return fail(error);
    }
    if (outcome instanceof Promise) return outcome.then(finish, fail);
    finish(outcome);
    return undefined;
  };
}

/** The outcome that settles a request: an answer, or a refusal for good. */
type Outcome = EndpointAnswer | ServiceError;

/** Does the work, and books what it costs. @throws ServiceError when the balance is too low */
function perform(endpoint: Endpoint, request: FastifyRequest, storeAnswer: StoreAnswer, isFree: boolean): Outcome | Promise<Outcome> {
  const { charge } = request.call;
  const delivers = !isHead(request);
  // An empty account is refused before any work; `bookCredits` checks the real cost after it.
  charge.requireCredits(delivers && !isFree ? 1 : 0);
  if (!isFree) charge.requireWritable();
  charge.bookCalls();
  const book = (outcome: Outcome): Outcome => {
    if (!(outcome instanceof ServiceError)) charge.bookCredits(delivers ? outcome.credits : 0);
    return outcome;
  };
  const outcome = attempt(endpoint, request, storeAnswer);
  return outcome instanceof Promise ? outcome.then(book) : book(outcome);
}

/** Runs the endpoint. A refusal for good is an outcome too; a refusal that may work later, or a bug, is thrown. */
function attempt(endpoint: Endpoint, request: FastifyRequest, storeAnswer: StoreAnswer): Outcome | Promise<Outcome> {
  const settled = (error: unknown): ServiceError => {
    if (error instanceof ServiceError && settlesRequest(error.status)) return error;
    throw error;
  };
  try {
    const answer = endpoint(request.body, request, storeAnswer);
    return answer instanceof Promise ? answer.catch(settled) : answer;
  } catch (error) {
    return settled(error);
  }
}

/** A HEAD request delivers no body: it is a call like any other, and costs no credits (RFC 9110 9.3.2). */
export function isHead({ method }: FastifyRequest): boolean {
  return method === 'HEAD';
}

function sendFirst(
  idempotency: Idempotency,
  ticket: IdempotencyClaim | null,
  outcome: Outcome,
  request: FastifyRequest,
  reply: FastifyReply,
  typeOf: (request: FastifyRequest) => string,
): FastifyReply {
  const { charge } = request.call;
  if (outcome instanceof ServiceError) {
    const text = problemText(outcome, request);
    const { status, headers } = outcome;
    if (ticket !== null)
      store(idempotency, charge, ticket, {
        status,
        headers: { ...headers, 'content-type': PROBLEM_TYPE },
        text,
        named: NAMES_NOBODY,
        secret: null,
      });
    return sendProblem(reply, outcome, text);
  }
  const { status, text, headers } = outcome;
  const type = typeOf(request);
  if (ticket !== null) store(idempotency, charge, ticket, toStored(outcome, type));
  if (headers !== undefined) void reply.headers(headers);
  return send(request, reply, status, text, type);
}

const NAMES_NOBODY = {};

function toStored({ status, text, headers, named = NAMES_NOBODY, secret }: EndpointAnswer, type: string): StorableAnswer {
  return { status, headers: { ...headers, 'content-type': type }, text, named, secret: secret ?? null };
}

/** Stores a first answer, together with its charge. */
function store(idempotency: Idempotency, charge: Charge, ticket: IdempotencyClaim, answer: StorableAnswer): void {
  idempotency.finish(ticket, answer, () => charge.refund());
  charge.stores({ isPending: () => idempotency.size > 0, isLost: () => idempotency.isLost(ticket) });
  charge.onRefund(() => idempotency.forget(ticket));
}

/**
 * Claims the request's Idempotency-Key. Returns a ticket for the first request with it, the first answer for a later one, and null for a
 * request without the header.
 * @throws ServiceError when there is no answer to repeat
 */
function claim(dependencies: ApiRouteDependencies, request: FastifyRequest): IdempotencyClaim | { answer: FirstAnswer } | null {
  // Reading is harmless however often it is done (RFC 9110 9.2.2).
  if (request.method !== 'POST') return null;
  const header = request.headers['idempotency-key'];
  if (header === undefined) return null;
  if (typeof header !== 'string' || !isIdempotencyKey(header)) {
    const detail = 'Idempotency-Key must be 1 to 255 printable ASCII characters';
    throw new ServiceError('invalid_parameter', detail, { errors: [{ parameter: 'Idempotency-Key', code: 'format', detail }] });
  }
  const { idempotency, journal } = dependencies;
  const { charge } = request.call;
  charge.stores({ isPending: () => idempotency.size > 0, isLost: () => false });
  const begun = begin(dependencies, header, request);
  switch (begun.kind) {
    case 'new':
      // An answer that has to be stored cannot be given while nothing can be stored.
      if (journal.isDiskUnusable) {
        idempotency.finish(begun.ticket, null);
        throw storeUnwritable(journal.failure, 'charged');
      }
      return begun.ticket;
    case 'replay':
      charge.replays();
      return begun;
    case 'erased':
      charge.replays();
      throw suppressedPerson({ 'idempotency-replayed': 'true' });
    case 'dropped':
      throw new ServiceError(
        'idempotency_mismatch',
        'the answer to the first request with this Idempotency-Key is not kept: it was too long, or had to make room for newer ones. ' +
          'Nothing was done or charged again; a new key does and charges it anew',
      );
    case 'in_flight':
      throw inFlight();
    case 'mismatch':
      throw new ServiceError(
        'idempotency_mismatch',
        'this Idempotency-Key was used for another request within the last 24 hours; take a new one',
      );
    default:
      return begun satisfies never;
  }
}

function begin({ idempotency, health }: ApiRouteDependencies, header: string, { url, rawBody, call }: FastifyRequest): ClaimResult {
  try {
    return idempotency.claim(call.charge.keyId, header, url, rawBody ?? NO_BODY);
  } catch (error) {
    if (isUnreadable(error)) health.damaged('idempotency', error);
    throw error;
  }
}

function inFlight(): ServiceError {
  return new ServiceError('idempotency_in_flight', 'the first request with this Idempotency-Key is not answered yet', {
    headers: { 'retry-after': IN_FLIGHT_RETRY_S },
  });
}

function sendReplay({ status, headers, text }: FirstAnswer, request: FastifyRequest, reply: FastifyReply): undefined {
  const { 'content-type': type = JSON_TYPE, ...more } = headers;
  send(request, reply.headers({ ...more, 'idempotency-replayed': 'true' }), status, text, type);
}

function send(request: FastifyRequest, reply: FastifyReply, status: number, text: string, type: string): FastifyReply {
  if (request.fault?.kind === 'drop_after') {
    reply.hijack();
    reply.raw.destroy();
    return reply;
  }
  if (status === 304 || status === 204) return reply.code(status).send();
  return (
    reply
      .code(status)
      .header('content-type', type)
      // Fastify adds a charset to the type of a text, and the type of a problem has none.
      .send(type === PROBLEM_TYPE ? Buffer.from(text) : text)
  );
}

export function problemText(error: ServiceError, request: FastifyRequest): string {
  return problem(error.code, error.message, pathOf(request.url), request.call.requestId, error.errors);
}

export function sendProblem(reply: FastifyReply, error: ServiceError, text: string): FastifyReply {
  return reply.code(error.status).headers(error.headers).header('content-type', PROBLEM_TYPE).send(Buffer.from(text));
}
