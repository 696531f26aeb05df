/** The HTTP side: Fastify with the service's limits, headers and errors around the routes. */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { fastify, type FastifyInstance, type FastifyRequest, type RouteHandlerMethod } from 'fastify';
import { isDamage } from '../sqlite/system-code.ts';
import { admit, refuseBadQuery, suffer, tellQuota } from './admission.ts';
import { apiRoute, pathOf, problemText, sendProblem } from './api-route.ts';
import type { Call, Endpoint, ServiceContext } from './context.ts';
import { ServiceError } from './errors.ts';
import { guardConnections, type Connections } from './guard/connections.ts';
import { checkEveryMs, LIMITS } from './guard/limits.ts';
import { graphqlEndpoint, graphqlType } from './graphql/endpoint.ts';
import { badEscapes, refuseMalformed } from './guard/request-checks.ts';
import { answerOdd, isLate, refuseUnreadable } from './guard/unreadable.ts';
import { Uploads } from './guard/uploads.ts';
import { nearPath } from './near-path.ts';
import type { Operation } from './openapi/operation.ts';
import { BATCH_RESULTS, CANCEL_BATCH, CHANGE_BATCH, COMPLETE_BATCH, CREATE_BATCH, DELETE_BATCH, GET_BATCH, LIST_BATCHES, MEDIA, PUT_PART } from './operations/batches.ts';
import { COMPANY } from './operations/companies.ts';
import { ENRICH, ENRICH_BULK } from './operations/enrich.ts';
import { GRAPHQL } from './operations/graphql.ts';
import { REVEAL } from './operations/reveal.ts';
import { SEARCH, SEARCH_BY_BODY } from './operations/search.ts';
import { HEALTH, OPENAPI, READINESS, REFERENCE } from './operations/service.ts';
import { SIGNALS } from './operations/signals.ts';
import { POLL_VERIFICATION, VERIFY } from './operations/verify.ts';
import { CHANGE_WEBHOOK, CREATE_WEBHOOK, DELETE_WEBHOOK, GET_WEBHOOK, LIST_DELIVERIES, LIST_WEBHOOKS, REDELIVER, ROTATE_WEBHOOK_SECRET, TEST_WEBHOOK } from './operations/webhooks.ts';
import { refuseUnwritten, settle, takeBack } from './owing.ts';
import { quotaOf } from './quota.ts';
import { batchEndpoints, batchResults } from './routes/batches.ts';
import { companyEndpoint } from './routes/companies.ts';
import { bulkEnrichEndpoint } from './routes/enrich-bulk.ts';
import { enrichEndpoint } from './routes/enrich.ts';
import { revealEndpoint } from './routes/reveal.ts';
import { searchByBody, searchByQuery } from './routes/search.ts';
import { health, openApi, readinessRoute, reference } from './routes/service.ts';
import { signals } from './routes/signals.ts';
import { pollVerification, verifyEndpoint } from './routes/verify.ts';
import { listDeliveries, redeliver } from './routes/webhook-deliveries.ts';
import { changeWebhook, createWebhook, deleteWebhook, getWebhook, listWebhooks, rotateWebhookSecret, testWebhook } from './routes/webhooks.ts';
import { VerificationJobs } from './verification-jobs.ts';
import { damaged } from './unwritten.ts';
import { follow, letIn, lineUp } from './watch/follow-calls.ts';
import { routeOf } from './watch/meter.ts';
import type { Readiness } from './watch/store-health.ts';

const MAX_SHOWN_PATH = 200;

const NO_BODY = Buffer.alloc(0);

export interface App {
  readonly fastify: FastifyInstance;
  readonly connections: Connections;
  /** Whether requests are welcome: it is not being closed, and the store can be read and written; and what is wrong with it. */
  readiness(): Readiness;
  /** Asynchronous verifications that are under way. */
  openVerifications(): number;
  /** From now on each answer is the last one of its connection, which its client opens anew: at whoever listens then. */
  endConnections(): void;
  /** Stops listening and resolves when what is in flight is answered. What a fault left without an answer is cut at once. */
  close(): Promise<void>;
}

/** Builds the service without listening. */
export function buildApp(context: ServiceContext): App {
  const { limits } = context;
  const nextRequestId = requestIds();
  const hung = new Set<Socket>();
  let closing = false;
  let endsConnections = false;
  const readiness = (): Readiness => context.health.readiness({ closing, readable: context.directory.ready(), failure: context.journal.failure, stuckMs: context.journal.stuckMs });
  const hold = (socket: Socket): void => {
    if (closing) {
      socket.destroy();
      return;
    }
    hung.add(socket);
    socket.once('close', () => hung.delete(socket));
  };
  const uploads = new Uploads(limits, context.clock);
  const app = fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    // Node would refuse a request without Host in words of its own.
    http: { requireHostHeader: false, maxHeaderSize: limits.headerBytes, headersTimeout: limits.headersTimeoutMs, connectionsCheckingInterval: checkEveryMs(limits) },
    routerOptions: { maxParamLength: limits.parameterLength },
    // While closing, what still arrives on an open connection is answered like anything else.
    return503OnClosing: false,
    exposeHeadRoutes: true,
    clientErrorHandler: (error, socket) => {
      // Node says so once; from then on the part is held to its rate alone.
      if (!isLate(error) || !uploads.has(socket)) refuseUnreadable(error, socket, nextRequestId(), limits);
    },
    frameworkErrors: (error, request, reply) => {
      // A target that cannot be decoded names nothing; no hook has run for it.
      request.call ??= newCall(nextRequestId(), context.clock());
      const refusal = error.code === 'FST_ERR_MAX_PARAM_LENGTH' ? new ServiceError('not_found', 'the path is too long') : badEscapes('path');
      tellQuota(context, request);
      void reply.headers({ ...quotaOf(request.call), 'x-request-id': request.call.requestId, 'x-credits-charged': '0' });
      return sendProblem(reply, refusal, problemText(refusal, request)) as never;
    },
  });
  // One more than there may be, so that too many are noticed.
  app.server.maxHeadersCount = limits.headers + 1;
  const connections = guardConnections(app.server, limits);
  answerOdd(app.server, nextRequestId);
  app.decorateRequest('call', null as unknown as Call);
  readBodies(app);
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.call.admitted) lineUp(context, done);
    else done();
  });

  const methods = new Map<string, string[]>();
  app.addHook('onRequest', (request, reply, done) => {
    request.call = newCall(nextRequestId(), context.clock());
    follow(context, request, reply);
    // Whoever asks how the service is gets an answer whatever its load.
    const isOpen = !request.is404 && !isApi(request);
    try {
      if (!isOpen) letIn(context, request);
      refuseMalformed(request);
      if (isOpen) {
        refuseBadQuery(request);
        done();
        return;
      }
      // Before its body is read: whatever that is, there is nothing that takes it.
      if (request.is404) throw noSuchRoute(methods, request);
      admit(context, request);
    } catch (error) {
      // What is damaged before the key is known is a key, or its quota.
      if (isDamage(error)) context.health.damaged('keys', error);
      else if (!isOpen && request.call.key === null) tellQuota(context, request);
      done(error as Error);
      return;
    }
    done();
  });
  const { nextFate } = context;
  if (nextFate !== null) {
    app.addHook('onRequest', async (request, reply) => {
      if (request.is404 || !isApi(request)) return;
      request.call.fate = nextFate();
      await suffer(request, reply, hold);
    });
  }
  app.addHook('onSend', (request, reply, payload, done) => {
    const stamp = (sent: unknown): void => {
      const { call } = request;
      reply.header('x-request-id', call.requestId);
      reply.header('x-credits-charged', String(call.credits));
      // A connection kept alive would keep the server from closing.
      if (closing || endsConnections) reply.header('connection', 'close');
      if (request.is404 || isApi(request)) reply.headers(quotaOf(call));
      done(null, sent);
    };
    const settled = settle(context, request.call);
    if (settled === null) stamp(payload);
    else {
      settled.then((refusal) => stamp(refusal === null ? payload : refuseUnwritten(context, request, reply, refusal, payload))).catch((error: unknown) => {
        // Nobody waits for this: what goes wrong here must end no more than the one connection.
        tellBug(context, request, error);
        reply.raw.destroy();
      });
    }
  });

  const serve = ({ method, path, query = {}, open, body, raw }: Operation, handler: RouteHandlerMethod): void => {
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    methods.set(url, [...(methods.get(url) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
    app.route({ method, url, handler, config: { parameters: query, ...(open === undefined ? {} : { open }), ...(raw === undefined ? {} : { raw: Object.keys(raw) }), ...(body === undefined ? {} : { hasBody: true }) } });
  };
  const jobs = new VerificationJobs({ ...context, rows: context.verifications });
  app.addHook('onClose', async () => jobs.close());
  serve(ENRICH, apiRoute(context, enrichEndpoint(context)));
  serve(ENRICH_BULK, apiRoute(context, bulkEnrichEndpoint(context)));
  serve(SEARCH, apiRoute(context, searchByQuery(context), 0));
  serve(SEARCH_BY_BODY, apiRoute(context, searchByBody(context), 0));
  serve(REVEAL, apiRoute(context, revealEndpoint(context)));
  serve(COMPANY, apiRoute(context, companyEndpoint(context.directory)));
  serve(SIGNALS, signals(app, context));
  serve(VERIFY, apiRoute(context, verifyEndpoint(context, jobs)));
  serve(POLL_VERIFICATION, pollVerification(context, jobs));
  serve(GRAPHQL, apiRoute(context, graphqlEndpoint(context), 0, graphqlType));
  const serveFree = (operation: Operation, endpoint: Endpoint): void => serve(operation, apiRoute(context, endpoint, 0));
  const batches = batchEndpoints({ ...context, uploads });
  serveFree(CREATE_BATCH, batches.create);
  serveFree(LIST_BATCHES, batches.list);
  serveFree(GET_BATCH, batches.get);
  serveFree(CHANGE_BATCH, batches.change);
  serveFree(PUT_PART, batches.putPart);
  serveFree(COMPLETE_BATCH, batches.complete);
  serveFree(CANCEL_BATCH, batches.cancel);
  serveFree(DELETE_BATCH, batches.remove);
  serve(BATCH_RESULTS, batchResults(context));
  serveFree(CREATE_WEBHOOK, createWebhook(context));
  serveFree(LIST_WEBHOOKS, listWebhooks(context));
  serveFree(GET_WEBHOOK, getWebhook(context));
  serveFree(CHANGE_WEBHOOK, changeWebhook(context));
  serveFree(DELETE_WEBHOOK, deleteWebhook(context));
  serveFree(ROTATE_WEBHOOK_SECRET, rotateWebhookSecret(context));
  serveFree(TEST_WEBHOOK, testWebhook(context));
  serveFree(LIST_DELIVERIES, listDeliveries(context));
  serveFree(REDELIVER, redeliver(context));
  serve(HEALTH, health());
  serve(READINESS, readinessRoute(readiness));
  serve(OPENAPI, openApi());
  serve(REFERENCE, reference());

  app.setErrorHandler((error, request, reply) => {
    const refusal = isDamage(error) ? damaged() : toServiceError(error, request);
    takeBack(context, request.call, refusal.status);
    if (isDamage(error)) context.health.damaged(routeOf(request), error);
    else if (refusal.code === 'internal_error' && error !== refusal) tellBug(context, request, error);
    // What is refused before it was read would still have to be read to the end, to come to the next request on the connection.
    if (request.body === undefined && isLarge(request)) void reply.header('connection', 'close');
    return sendProblem(reply, refusal, problemText(refusal, request));
  });

  return {
    fastify: app,
    connections,
    readiness,
    openVerifications: () => jobs.open,
    endConnections() {
      endsConnections = true;
    },
    close() {
      closing = true;
      for (const socket of hung) socket.destroy();
      return app.close();
    },
  };
}

function tellBug({ log }: ServiceContext, { call }: FastifyRequest, error: unknown): void {
  log?.write('error', { event: 'bug', request_id: call.requestId, error: error instanceof Error ? error.stack : String(error) });
}

function noSuchRoute(methods: ReadonlyMap<string, readonly string[]>, { url }: FastifyRequest): ServiceError {
  const path = pathOf(url);
  const allowed = methodsOf(methods, path);
  if (allowed === undefined) {
    const near = nearPath(path, (one) => methodsOf(methods, one) !== undefined, [...methods.keys()].filter((one) => !one.includes(':')));
    return new ServiceError('not_found', `there is no such path; ${near === null ? 'the reference is at /docs' : `did you mean ${near.slice(0, MAX_SHOWN_PATH)}?`}`);
  }
  return new ServiceError('method_not_allowed', `${path.slice(0, MAX_SHOWN_PATH)} takes ${allowed.join(', ')}`, { headers: { allow: allowed.join(', ') } });
}

/** The methods that some route has for a path; undefined when none has it. */
function methodsOf(methods: ReadonlyMap<string, readonly string[]>, path: string): readonly string[] | undefined {
  const exact = methods.get(path);
  if (exact !== undefined) return exact;
  const parts = path.split('/');
  for (const [route, found] of methods) {
    const pattern = route.split('/');
    if (pattern.length === parts.length && pattern.every((part, at) => part === parts[at] || (part.startsWith(':') && parts[at] !== ''))) return found;
  }
  return undefined;
}

function newCall(requestId: string, startedMs: number): Call {
  return { requestId, startedMs, key: null, quota: null, tokens: 0, credits: 0, admitted: false, replayed: false, owing: false, idempotent: false, keep: null, isLost: null, undo: null, raw: NO_BODY, fate: null };
}

function isApi(request: FastifyRequest): boolean {
  return request.routeOptions.config.open !== true;
}

/** A body that is longer than any may be, or does not say how long it is. */
function isLarge({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > LIMITS.bodyBytes;
}

function ofAnotherType({ routeOptions }: FastifyRequest): ServiceError {
  return new ServiceError('unsupported_media_type', `send Content-Type: ${(routeOptions.config.raw ?? ['application/json']).join(' or ')}`);
}

/** Unique in this process by the counter, and among processes by the random part. */
function requestIds(): () => string {
  const prefix = `req_${randomBytes(6).toString('hex')}_`;
  let count = 0;
  return () => prefix + (++count).toString(36);
}

/** JSON is the one content type; the bytes are kept, for a request is recognised by them. */
function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    request.call.raw = body;
    if (request.routeOptions.config.raw !== undefined) {
      done(null, body);
      return;
    }
    // Many clients say of every request that its body is JSON. Where there must be one, it is missed later.
    if (body.length === 0) {
      done(null, undefined);
      return;
    }
    try {
      if (!isUtf8(body)) throw new SyntaxError('not UTF-8');
      done(null, JSON.parse(body.toString('utf8')));
    } catch (error) {
      done(new ServiceError('invalid_json', `the body is no JSON: ${where(error)}`), undefined);
    }
  });
  // What streams is read by whoever takes it.
  app.addContentTypeParser(Object.values(MEDIA), (request, payload, done) => {
    if (request.routeOptions.config.raw === undefined) done(ofAnotherType(request), undefined);
    else done(null, payload);
  });
  // A request without a body has no content type and never reaches a parser.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.routeOptions.config.hasBody === true && request.body === undefined) done(new ServiceError('invalid_json', 'the body is empty; send a JSON object'));
    else done();
  });
}

/** Where the JSON goes wrong, without the body's own words: they may be personal data. */
function where(error: unknown): string {
  const position = /at position \d+(?: \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0];
  return position ?? ((error as Error).message === 'not UTF-8' ? 'it is not UTF-8' : 'it ends too early or has a stray character');
}

function toServiceError(error: unknown, request: FastifyRequest): ServiceError {
  if (error instanceof ServiceError) return error;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new ServiceError('payload_too_large', `the body may have ${LIMITS.bodyBytes} bytes at most`);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' || statusCode === 415) return ofAnotherType(request);
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) return new ServiceError('invalid_parameter', 'the request is not well-formed HTTP');
  return new ServiceError('internal_error', 'something went wrong here; the request id helps to find it');
}
