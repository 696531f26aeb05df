/** Answers one request: runs the use cases that its document asks for, all at once, and composes the answer from them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { GraphQLError, type DocumentNode } from 'graphql';
import type { EndpointAnswer } from '../calls/endpoint.ts';
import { settlesRequest, ServiceError } from '../http/problem.ts';
import { allNamed } from '../store/identity/named-people.ts';
import { CALLS, type Done, type GraphqlDependencies } from './calls.ts';
import { compose } from './compose.ts';
import { Documents } from './documents.ts';
import { planOf, type PlannedCall } from './plan.ts';
import { extensionsOf, GraphqlRefusal, refusalText } from './refusal.ts';
import { readRequest } from './request.ts';
import { bookSearches } from '../search/search-price.ts';
import { buildSchema } from './graphql-schema.ts';

/** Characters of a document that takes milliseconds to be checked. */
const LONG_DOCUMENT = 4_096;

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
    // To check a long document takes as long as to plan it.
    if (asked.query.length > LONG_DOCUMENT) await nextTurn();
    calls = planOf(SCHEMA, document, asked);
  } catch (error) {
    if (!(error instanceof GraphqlRefusal)) throw error;
    return { status: isOwnType ? 400 : 200, text: refusalText(error, request.call.requestId), credits: 0 };
  }
  const { charge, requestId } = request.call;
  if (calls.some(({ name }) => !CALLS[name].isFree)) charge.requireCredits(1);
  charge.bookBulk(calls.length, 'fields at the top', '/query');
  const found = await perform(dependencies, request, calls);
  const done = found.flatMap((one) => (one instanceof ServiceError ? [] : one));
  const searches = done.flatMap(({ units }) => units ?? []);
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  return {
    status: 200,
    text: await compose(
      SCHEMA,
      document,
      asked,
      calls.map(({ key, fields }, at) => ({ key, fields, value: () => valueOf(found[at] as Outcome, requestId) })),
    ),
    credits: sum(done.map(({ credits }) => credits)),
    headers: searches.length === 0 ? {} : bookSearches(charge, searches.length, sum(searches)),
    named: allNamed(done.map(({ named }) => named)),
  };
}

/** The outcome of a call: an answer, or a refusal for good. */
type Outcome = Done | ServiceError;

/** Runs all calls, in steps. A refusal that may work later refuses the whole request. */
async function perform(dependencies: GraphqlDependencies, { call }: FastifyRequest, calls: readonly PlannedCall[]): Promise<Outcome[]> {
  const announcements: (() => void)[] = [];
  const begun = calls.map(async ({ name, args }): Promise<Outcome | Unsettled> => {
    try {
      const found = await dependencies.turns.run(call.charge.keyId, CALLS[name].run(dependencies, args));
      announcements.push(CALLS[name].eventOf?.(dependencies, call.charge, args, found) ?? (() => undefined));
      return found;
    } catch (error) {
      // Caught at once: nobody waits for it before all are begun.
      return error instanceof ServiceError && settlesRequest(error.status) ? error : new Unsettled(error);
    }
  });
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

function valueOf(found: Outcome, requestId: string): unknown {
  if (found instanceof ServiceError) throw new GraphQLError(found.message, { extensions: extensionsOf(found, requestId) });
  return found.value;
}
