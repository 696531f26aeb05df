/** The HTTP side: Fastify with the service's limits, headers and errors around the routes. */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import { admit, peekQuota, suffer } from './admission.ts';
import { apiRoute, JSON_TYPE, pathOf, problemText, sendProblem } from './api-route.ts';
import type { Call, Endpoint, ServiceContext } from './context.ts';
import { problem, PROBLEM_TYPE, ServiceError } from './errors.ts';
import { refuseUnwritten, settle } from './owing.ts';
import { quotaHeaders } from './quota.ts';
import { companyEndpoint } from './routes/companies.ts';
import { bulkEnrichEndpoint } from './routes/enrich-bulk.ts';
import { enrichEndpoint } from './routes/enrich.ts';
import { revealEndpoint } from './routes/reveal.ts';
import { SEARCH_PARAMETERS, searchByBody, searchByQuery } from './routes/search.ts';
import { signalRoutes, SIGNALS_PATH } from './routes/signals.ts';
import { pollVerification, VERIFY_PATH, verifyEndpoint } from './routes/verify.ts';
import { VerificationJobs } from './verification-jobs.ts';

const MAX_BODY_BYTES = 1024 * 1024;
/** How long a client may take to send a whole request, and an idle connection stays open. */
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 75_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Of a part of a path, such as a domain. */
const MAX_PARAMETER_LENGTH = 2_048;
const MAX_CONNECTIONS = 10_000;

const NO_BODY = Buffer.alloc(0);

export interface App {
  readonly fastify: FastifyInstance;
  /** Stops listening and resolves when what is in flight is answered. What a fault left without an answer is cut at once. */
  close(): Promise<void>;
}

/** Builds the service without listening. */
export function buildApp(context: ServiceContext): App {
  const nextRequestId = requestIds();
  const hung = new Set<Socket>();
  let closing = false;
  const hold = (socket: Socket): void => {
    if (closing) {
      socket.destroy();
      return;
    }
    hung.add(socket);
    socket.once('close', () => hung.delete(socket));
  };
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    // While closing, what still arrives on an open connection is answered like anything else.
    return503OnClosing: false,
    exposeHeadRoutes: true,
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, nextRequestId()),
    frameworkErrors: (_error, request, reply) => {
      // A target that cannot be decoded names nothing; no hook has run for it.
      request.call ??= newCall(nextRequestId(), context.clock());
      const refusal = new ServiceError('not_found', 'the path is not properly percent-encoded');
      void reply.headers({ 'x-request-id': request.call.requestId, 'x-credits-charged': '0' });
      return sendProblem(reply, refusal, problemText(refusal, request)) as never;
    },
  });
  app.server.maxConnections = MAX_CONNECTIONS;
  app.decorateRequest('call', null as unknown as Call);
  readBodies(app);

  app.addHook('onRequest', (request, _reply, done) => {
    request.call = newCall(nextRequestId(), context.clock());
    if (request.is404) {
      const key = context.keys.resolve(request.headers.authorization);
      if (key !== null) peekQuota(context, request, key);
      done();
      return;
    }
    if (!isApi(request)) {
      done();
      return;
    }
    try {
      admit(context, request);
    } catch (error) {
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
      reply.raw.setHeader('x-request-id', call.requestId);
      reply.raw.setHeader('x-credits-charged', String(call.credits));
      // A connection kept alive would keep the server from closing.
      if (closing) reply.raw.setHeader('connection', 'close');
      if (call.key !== null) {
        for (const [name, value] of Object.entries(quotaHeaders(call.key.policy, call.quota))) reply.raw.setHeader(name, value);
      }
      done(null, sent);
    };
    const settled = settle(context, request.call);
    if (settled === null) stamp(payload);
    else void settled.then((written) => stamp(written ? payload : refuseUnwritten(request, reply, payload)));
  });
  if (context.log !== null) logAccess(app, context, context.log);

  const methods = new Map<string, string[]>();
  const allow = (path: string, ...more: string[]): void => void methods.set(path, [...(methods.get(path) ?? []), ...more]);
  const post = (path: string, endpoint: Endpoint, least?: 0 | 1): void => {
    allow(path, 'POST');
    app.post(path, apiRoute(context, endpoint, least));
  };
  const get = (path: string, endpoint: Endpoint, { parameters, least = 0 }: { parameters: readonly string[]; least?: 0 | 1 }): void => {
    allow(path, 'GET', 'HEAD');
    app.get(path, { config: { parameters } }, apiRoute(context, endpoint, least));
  };
  post('/v1/enrich', enrichEndpoint(context));
  post('/v1/enrich/bulk', bulkEnrichEndpoint(context));
  get('/v1/contacts/search', searchByQuery(context), { parameters: SEARCH_PARAMETERS });
  post('/v1/contacts/search', searchByBody(context), 0);
  post('/v1/contacts/reveal', revealEndpoint(context));
  get('/v1/companies/:domain', companyEndpoint(context.directory), { parameters: [], least: 1 });
  allow(SIGNALS_PATH, 'GET', 'HEAD');
  signalRoutes(app, context);
  const jobs = new VerificationJobs(context);
  app.addHook('onClose', async () => jobs.close());
  post(VERIFY_PATH, verifyEndpoint(context, jobs));
  allow(`${VERIFY_PATH}/:id`, 'GET', 'HEAD');
  app.get(`${VERIFY_PATH}/:id`, pollVerification(context, jobs));
  for (const [path, ok] of [['/healthz', () => true], ['/readyz', () => context.directory.ready()]] as const) {
    allow(path, 'GET', 'HEAD');
    app.get(path, (_request, reply) => {
      const good = ok();
      return reply.code(good ? 200 : 503).header('content-type', JSON_TYPE).send(good ? '{"status":"ok"}' : '{"status":"unavailable"}');
    });
  }

  app.setNotFoundHandler((request) => {
    const path = pathOf(request.url);
    const allowed = methodsOf(methods, path);
    if (allowed === undefined) throw new ServiceError('not_found', 'there is no such path');
    throw new ServiceError('method_not_allowed', `${path} takes ${allowed.join(', ')}`, { headers: { allow: allowed.join(', ') } });
  });
  app.setErrorHandler((error, request, reply) => {
    const refusal = toServiceError(error);
    if (refusal.code === 'internal_error' && error !== refusal) {
      context.log?.({ event: 'bug', request_id: request.call.requestId, error: error instanceof Error ? error.stack : String(error) });
    }
    return sendProblem(reply, refusal, problemText(refusal, request));
  });

  return {
    fastify: app,
    close() {
      closing = true;
      for (const socket of hung) socket.destroy();
      return app.close();
    },
  };
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
  return { requestId, startedMs, key: null, quota: null, credits: 0, idempotent: false, undo: null, raw: NO_BODY, fate: null };
}

function isApi(request: FastifyRequest): boolean {
  return request.url.startsWith('/v1/');
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
    try {
      if (!isUtf8(body)) throw new SyntaxError('not UTF-8');
      done(null, JSON.parse(body.toString('utf8')));
    } catch (error) {
      done(new ServiceError('invalid_json', body.length === 0 ? 'the body is empty; send a JSON object' : `the body is no JSON: ${where(error)}`), undefined);
    }
  });
  // A request without a body has no content type and never reaches a parser.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.method === 'POST' && request.body === undefined && !request.is404 && isApi(request)) done(new ServiceError('invalid_json', 'the body is empty; send a JSON object'));
    else done();
  });
}

/** Where the JSON goes wrong, without the body's own words: they may be personal data. */
function where(error: unknown): string {
  const position = /at position \d+(?: \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0];
  return position ?? ((error as Error).message === 'not UTF-8' ? 'it is not UTF-8' : 'it ends too early or has a stray character');
}

function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new ServiceError('payload_too_large', `the body may have ${MAX_BODY_BYTES} bytes at most`);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' || statusCode === 415) return new ServiceError('unsupported_media_type', 'send Content-Type: application/json');
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) return new ServiceError('invalid_parameter', 'the request is not well-formed HTTP');
  return new ServiceError('internal_error', 'something went wrong here; the request id helps to find it');
}

/** Answers what Node could not read as HTTP at all, in the service's own words. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new ServiceError('headers_too_large', `the headers may have ${MAX_HEADER_BYTES} bytes at most`)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new ServiceError('request_timeout', 'the request did not arrive in time')
        : new ServiceError('invalid_parameter', 'the request is not well-formed HTTP');
  const body = problem(refusal.code, refusal.message, '/', requestId);
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${requestId}\r\nx-credits-charged: 0\r\nconnection: close\r\n\r\n${body}`,
  );
}

/** One entry an answer: who asked (the key's id), what for (the route), and how it went. No bodies, no paths, no addresses. */
function logAccess(app: FastifyInstance, context: ServiceContext, log: (entry: Record<string, unknown>) => void): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { call } = request;
    log({
      event: 'request',
      request_id: call.requestId,
      method: request.method,
      route: request.routeOptions.url ?? null,
      status: reply.statusCode,
      ms: Math.round((context.clock() - call.startedMs) * 1000) / 1000,
      key_id: call.key?.id ?? null,
      credits: call.credits,
    });
    done();
  });
}
