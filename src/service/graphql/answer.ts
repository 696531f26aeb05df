/** Answers one request: runs the use cases that its document asks for, all at once, and composes the answer from them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { executeSync, GraphQLError, type DocumentNode } from 'graphql';
import type { EndpointAnswer } from '../calls/endpoint.ts';
import { settlesRequest, ServiceError } from '../http/problem.ts';
import { allNamed } from '../store/identity/named-people.ts';
import { CALLS, type Done, type GraphqlDependencies } from './calls.ts';
import { Documents } from './documents.ts';
import { planOf, type PlannedCall } from './plan.ts';
import { extensionsOf, GraphqlRefusal, refusalText } from './refusal.ts';
import { readRequest, type GraphqlRequest } from './request.ts';
import { buildSchema, type Outcomes } from './graphql-schema.ts';

const SCHEMA = buildSchema();
const DOCUMENTS = new Documents(SCHEMA);

/**
 * @param isOwnType whether it is answered in GraphQL's own type.
 * @throws ServiceError when the request is refused as REST refuses one, and nothing is charged
 */
export async function answer(dependencies: GraphqlDependencies, request: FastifyRequest, isOwnType: boolean): Promise<EndpointAnswer> {
  const asked = readRequest(request.body);
  let document: DocumentNode;
  let calls: readonly PlannedCall[];
  try {
    document = DOCUMENTS.read(asked.query);
    calls = planOf(SCHEMA, document, asked);
  } catch (error) {
    if (!(error instanceof GraphqlRefusal)) throw error;
    return { status: isOwnType ? 400 : 200, text: refusalText(error, request.call.requestId), credits: 0 };
  }
  const { charge, requestId } = request.call;
  if (calls.some(({ name }) => !CALLS[name].isFree)) charge.requireCredits(1);
  charge.bookBulk(calls.length, 'fields at the top', '/query');
  const found = await perform(dependencies, request, calls);
  const outcomes = new Map(found.map((one, at) => [calls[at]?.key ?? '', outcomeOf(one, requestId)]));
  const credits = found.reduce((sum, one) => sum + (one instanceof ServiceError ? 0 : one.credits), 0);
  return {
    status: 200,
    text: compose(document, asked, outcomes),
    credits,
    named: allNamed(found.map((one) => (one instanceof ServiceError ? {} : one.named))),
  };
}

/** The outcome of a call: an answer, or a refusal for good. */
type Outcome = Done | ServiceError;

/** Runs all calls at once. A refusal that may work later refuses the whole request. */
async function perform(dependencies: GraphqlDependencies, { call }: FastifyRequest, calls: readonly PlannedCall[]): Promise<Outcome[]> {
  const announcements: (() => void)[] = [];
  const begun: Promise<Outcome | Unsettled>[] = [];
  for (const [at, { name, args }] of calls.entries()) {
    if (at > 0 && CALLS[name].isLong) await nextTurn();
    const run = async (): Promise<Done> => {
      const found = await CALLS[name].run(dependencies, args);
      announcements.push(CALLS[name].eventOf?.(dependencies, call.charge, args, found) ?? (() => undefined));
      return found;
    };
    // Caught at once: nobody waits for it before all are begun.
    begun.push(
      run().catch((error: unknown) => (error instanceof ServiceError && settlesRequest(error.status) ? error : new Unsettled(error))),
    );
  }
  const found = (await Promise.all(begun)).map((one) => {
    if (one instanceof Unsettled) throw one.error;
    return one;
  });
  for (const announce of announcements) announce();
  return found;
}

class Unsettled {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** Puts together what was asked for. */
function compose(document: DocumentNode, { variables, operationName }: GraphqlRequest, outcomes: Outcomes): string {
  const result = executeSync({ schema: SCHEMA, document, rootValue: outcomes, variableValues: variables, operationName });
  const bug = result.errors?.find(({ extensions }) => extensions['code'] === undefined);
  if (bug !== undefined) throw bug;
  return JSON.stringify(result);
}

function outcomeOf(found: Outcome, requestId: string): () => unknown {
  return () => {
    if (found instanceof ServiceError) throw new GraphQLError(found.message, { extensions: extensionsOf(found, requestId) });
    return found.value;
  };
}
