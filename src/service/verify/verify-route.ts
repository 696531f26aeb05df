/**
 * POST /v1/emails/verify and GET /v1/emails/verify/{id} over HTTP: verdicts at once, or with `Prefer: respond-async` later.
 */
import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isHead, JSON_TYPE } from '../calls/api-route.ts';
import type { EndpointAnswer, Endpoint } from '../calls/endpoint.ts';
import type { RunSteps } from '../../util/steps.ts';
import type { Turns } from '../guards/turns.ts';
import { ServiceError } from '../http/problem.ts';
import { suppressedPerson, suppressedResult, type AddressResult } from '../records/suppressed-result.ts';
import type { VerificationState, VerificationJobs } from './verification-jobs.ts';
import {
  creditsFor,
  readVerifyRequest,
  removedAmong,
  resultText,
  verifyNow,
  type VerificationAsked,
  type VerifyDependencies,
} from './verify.ts';
import { VERIFY } from './verify-operations.ts';

export interface VerifyRouteDependencies extends VerifyDependencies {
  readonly turns: Turns;
}

/** Addresses of people who asked to be removed are not looked up: one alone is refused, one of several gets a result that says so. */
export function verifyEndpoint(dependencies: VerifyRouteDependencies, jobs: VerificationJobs): Endpoint {
  return async (body, request) => {
    const asked = readVerifyRequest(body, dependencies.webhooks.isDevelopment);
    const run: RunSteps = (steps) => dependencies.turns.run(request.call.charge.keyId, steps);
    const removed = await run(removedAmong(dependencies, asked.emails));
    if (asked.single && removed.size > 0) throw suppressedPerson();
    if (wantsAsync(request) || asked.webhookUrl !== null)
      return begin(
        jobs,
        request,
        asked,
        [...removed].map((email) => suppressedResult(email, dependencies.now())),
      );
    return await verifyNow(dependencies, asked, removed, run);
  };
}

/**
 * GET /v1/emails/verify/{id}: 202 while it is under way; then the answer that the POST would have given, which is paid for when it is first
 * fetched.
 */
export function pollVerification(jobs: VerificationJobs): (request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  return (request, reply) => {
    const { charge } = request.call;
    const { id } = request.params as { id: string };
    const state = jobs.find(id, charge.keyId);
    if (state === null) throw new ServiceError('not_found', 'there is no asynchronous verification of this id; they are kept for 24 hours');
    charge.bookCalls();
    if (state.kind === 'in_progress') {
      const { text, headers } = progress(id, state);
      return reply.code(202).headers(headers).header('content-type', JSON_TYPE).send(text);
    }
    const text = resultText(state.results, id.startsWith(SINGLE));
    charge.bookCredits(state.paid || isHead(request) ? 0 : creditsFor(state.results));
    if (!state.paid && !isHead(request)) {
      jobs.markPaid(id, true);
      charge.onRefund(() => jobs.markPaid(id, false));
    }
    return reply.code(200).header('content-type', JSON_TYPE).send(text);
  };
}

/** The prefix of an id gives the form of its results. */
const SINGLE = 'ver1_';
const MANY = 'ver_';

/** RFC 7240 4.1: preferences stand between commas, each with a value and parameters or without. */
function wantsAsync({ headers }: FastifyRequest): boolean {
  return [headers['prefer'] ?? []]
    .flat()
    .some((line) => line.split(',').some((preference) => preference.split(/[;=]/, 1)[0]?.trim().toLowerCase() === 'respond-async'));
}

/** @param known results that are there already */
function begin(
  jobs: VerificationJobs,
  request: FastifyRequest,
  { single, ...asked }: VerificationAsked,
  known: readonly AddressResult[],
): EndpointAnswer {
  const { charge } = request.call;
  const id = `${single ? SINGLE : MANY}${randomBytes(16).toString('hex')}`;
  jobs.begin(id, charge.keyId, asked, known);
  charge.commitWith(() => jobs.drop(id));
  const { text, headers: more } = progress(id, {
    kind: 'in_progress',
    total: new Set(asked.emails).size,
    settled: known.length,
    nextMs: 1_000,
  });
  return { status: 202, text, credits: 0, headers: { ...more, ...(wantsAsync(request) ? { 'preference-applied': 'respond-async' } : {}) } };
}

function progress(
  id: string,
  { total, settled, nextMs }: VerificationState & { kind: 'in_progress' },
): { text: string; headers: Record<string, string> } {
  const location = `${VERIFY.path}/${id}`;
  return {
    text: JSON.stringify({ id, status: 'in_progress', location, total, settled }),
    headers: { location, 'retry-after': String(Math.ceil(nextMs / 1_000)) },
  };
}
