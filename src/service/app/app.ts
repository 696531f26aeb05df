/** The HTTP side of the service: Fastify with the limits, the hooks around every request, all features, and the stop. */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import { isUnreadable } from '../../sqlite/system-code.ts';
import type { ServiceCall } from '../accounts/call.ts';
import { Charge, type Books } from '../accounts/charging.ts';
import { quotaHeadersOf } from '../accounts/token-bucket.ts';
import { MEDIA } from '../batches/batch-operations.ts';
import { problemText, sendProblem } from '../calls/api-route.ts';
import { applyFault, type InjectedFault } from '../calls/fault-injection.ts';
import { guardConnections, type Connections } from '../guards/connections.ts';
import { checkEveryMs } from '../guards/limits.ts';
import { badEscapes, refuseMalformed } from '../guards/request-checks.ts';
import { answerOdd, isRequestTimeout, refuseUnreadable } from '../guards/unreadable.ts';
import { Uploads } from '../guards/uploads.ts';
import { readBodies } from '../http/body-parsers.ts';
import { ServiceError } from '../http/problem.ts';
import { follow, letIn, lineUp, type FollowDependencies } from '../monitoring/follow-calls.ts';
import type { Readiness } from '../monitoring/store-health.ts';
import type { Journal } from '../store/journal.ts';
import { referenceParts } from '../reference/reference-routes.ts';
import { VerificationJobs } from '../verify/verification-jobs.ts';
import type { VerificationRows } from '../verify/verification-rows.ts';
import { admit, peekQuota, refuseBadQuery, type AdmissionDependencies } from './admission.ts';
import { addFeatures, type FeatureDependencies } from './features.ts';
import { refuseRequest, refuseUncommitted, reportBug, type RefusalDependencies } from './error-handler.ts';
import { RouteTable } from './route-table.ts';

interface App {
  readonly fastify: FastifyInstance;
  readonly connections: Connections;
  /** Whether the service takes requests: it is not stopping, and the store can be read and written; and what is wrong. */
  readiness(): Readiness;
  /** Asynchronous verifications that are under way. */
  openVerifications(): number;
  /** From now on each answer closes its connection: the client opens the next one at the process that listens then. */
  endConnections(): void;
  /** Stops listening, and resolves when what is in flight is answered. Connections that a fault holds open are cut at once. */
  close(): Promise<void>;
}

/** The parts that `start-service.ts` opens for the app. */
type AppDependencies = FeatureDependencies &
  FollowDependencies &
  AdmissionDependencies &
  RefusalDependencies &
  Books & {
    readonly journal: Pick<Journal, 'stuckMs'>;
    readonly verifications: VerificationRows;
    /** Null without fault injection. */
    readonly nextFault: (() => InjectedFault) | null;
    /** The service serves the sample set, and each answer to a call with a key says so. */
    readonly isSample: boolean;
  };

/** Builds the service without listening. */
export function buildApp(dependencies: AppDependencies): App {
  const { limits, clock, directory, health, journal, streams } = dependencies;
  const nextRequestId = requestIds();
  const newCall = (): ServiceCall => ({ requestId: nextRequestId(), startedMs: clock(), charge: new Charge(dependencies) });
  const state: LifeCycle = { isClosing: false, endsConnections: false, held: new Set() };
  const readiness = (): Readiness =>
    health.readiness({ closing: state.isClosing, readable: directory.ready(), failure: journal.failure, stuckMs: journal.stuckMs });

  // Start
  const uploads = new Uploads(limits, clock);
  const app = fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    http: {
      // Node's own refusal of a request without Host is no problem document.
      requireHostHeader: false,
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: checkEveryMs(limits),
    },
    routerOptions: { maxParamLength: limits.parameterLength },
    // While closing, a request on an open connection is answered like any other.
    return503OnClosing: false,
    exposeHeadRoutes: true,
    clientErrorHandler: (error, socket) => {
      // Node reports a late upload once. From then on `Uploads` alone checks its rate.
      if (!isRequestTimeout(error) || !uploads.has(socket)) refuseUnreadable(error, socket, nextRequestId(), limits);
    },
    frameworkErrors: (error, request, reply) => {
      // The target cannot be decoded, and no hook has run for it.
      request.call ??= newCall();
      const refusal =
        error.code === 'FST_ERR_MAX_PARAM_LENGTH' ? new ServiceError('not_found', 'the path is too long') : badEscapes('path');
      peekQuota(dependencies, request);
      void reply.headers({ ...quotaHeadersOf(request.call.charge), 'x-request-id': request.call.requestId, 'x-credits-charged': '0' });
      return sendProblem(reply, refusal, problemText(refusal, request)) as never;
    },
  });
  // One more than the limit, so that a request over it is noticed.
  app.server.maxHeadersCount = limits.headers + 1;
  const connections = guardConnections(app.server, limits);
  answerOdd(app.server, nextRequestId);
  const jobs = new VerificationJobs({ ...dependencies, rows: dependencies.verifications });
  const routes = new RouteTable(app);

  // Hooks
  app.decorateRequest('call', null as unknown as ServiceCall);
  app.decorateRequest('fault', null);
  readBodies(app, Object.values(MEDIA));
  admitRequests(app, dependencies, newCall, routes);
  injectFaults(app, dependencies.nextFault, state);
  commitAnswers(app, dependencies, state);
  app.setErrorHandler((error, request, reply) => refuseRequest(dependencies, error, request, reply));

  // Features
  addFeatures((operation, handler) => routes.add(operation, handler), dependencies, { jobs, uploads, readiness });

  routes.addUnlisted('/', (_request, reply) => reply.redirect('/docs'));
  for (const [path, handler] of Object.entries(referenceParts())) routes.addUnlisted(path, handler);

  // Stop
  app.addHook('preClose', async () => streams.close());
  app.addHook('onClose', async () => jobs.close());
  return {
    fastify: app,
    connections,
    readiness,
    openVerifications: () => jobs.open,
    endConnections() {
      state.endsConnections = true;
    },
    close() {
      state.isClosing = true;
      for (const socket of state.held) socket.destroy();
      return app.close();
    },
  };
}

interface LifeCycle {
  isClosing: boolean;
  endsConnections: boolean;
  /** Connections that a fault keeps without an answer. */
  readonly held: Set<Socket>;
}

/** Each request gets its `ServiceCall`, and is admitted or refused before its body is read. Once it is read, it waits for its turn. */
function admitRequests(app: FastifyInstance, dependencies: AppDependencies, newCall: () => ServiceCall, routes: RouteTable): void {
  const { gate, health } = dependencies;
  app.addHook('preHandler', (request, _reply, done) => {
    if (gate.has(request.call)) lineUp(dependencies, done);
    else done();
  });
  app.addHook('onRequest', (request, reply, done) => {
    request.call = newCall();
    follow(dependencies, request, reply);
    // A probe is answered whatever the load.
    const isOpen = !request.is404 && !needsKey(request);
    try {
      if (!isOpen) letIn(dependencies, request);
      refuseMalformed(request);
      if (isOpen) {
        refuseBadQuery(request);
        done();
        return;
      }
      // Here, and not in a 404 handler: that would read the body first.
      if (request.is404) throw routes.refusalOf(request.url);
      admit(dependencies, request);
    } catch (error) {
      // Damage met before the key is known is damage of the key, or of its quota.
      if (isUnreadable(error)) health.damaged('keys', error);
      else if (!isOpen && request.call.charge.key === null) peekQuota(dependencies, request);
      done(error as Error);
      return;
    }
    done();
  });
}

function injectFaults(app: FastifyInstance, nextFault: (() => InjectedFault) | null, state: LifeCycle): void {
  if (nextFault === null) return;
  const hold = (socket: Socket): void => {
    if (state.isClosing) {
      socket.destroy();
      return;
    }
    state.held.add(socket);
    socket.once('close', () => state.held.delete(socket));
  };
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404 || !needsKey(request)) return;
    request.fault = nextFault();
    await applyFault(request, reply, hold);
  });
}

/** Clients tell the answers of the sample set by it. */
const SAMPLE_HEADER = { 'x-sample-data': 'true' } as const;

/** An answer goes when its charge is committed, with the headers that every answer has. */
function commitAnswers(
  app: FastifyInstance,
  { log, isSample }: Pick<AppDependencies, 'log' | 'isSample'> & RefusalDependencies,
  state: LifeCycle,
): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { requestId, charge } = request.call;
    const send = (body: unknown): void => {
      reply.header('x-request-id', requestId);
      reply.header('x-credits-charged', String(charge.credits));
      // A connection kept alive would keep the server from closing.
      if (state.isClosing || state.endsConnections) reply.header('connection', 'close');
      if (request.is404 || needsKey(request)) reply.headers({ ...quotaHeadersOf(charge), ...(isSample ? SAMPLE_HEADER : {}) });
      done(null, body);
    };
    const committed = charge.commit();
    if (committed === null) {
      send(payload);
      return;
    }
    committed
      .then((refusal) => send(refusal === null ? payload : refuseUncommitted(request, reply, refusal, payload)))
      .catch((error: unknown) => {
        // Nothing awaits this promise: a failure here ends this connection and no more.
        reportBug(log, request, error);
        reply.raw.destroy();
      });
  });
}

function needsKey(request: FastifyRequest): boolean {
  return request.routeOptions.config.open !== true;
}

/** Unique in this process by the counter, and among processes by the random part. */
function requestIds(): () => string {
  const prefix = `req_${randomBytes(6).toString('hex')}_`;
  let count = 0;
  return () => prefix + (++count).toString(36);
}
