/** The top-level fields. Each runs the use case of a REST call, and costs the same. */
import { andThen, oneStep, type Steps } from '../../util/steps.ts';
import type { Charge } from '../accounts/charging.ts';
import type { EndpointAnswer } from '../calls/endpoint.ts';
import { ServiceError, type ErrorItem } from '../http/problem.ts';
import { findPerson, readLookup, type PersonLookup } from '../lookups/find-person.ts';
import { CONTACT_BODY } from '../openapi/graphql-operation.ts';
import { SEARCH_LIMIT } from '../search/search-operations.ts';
import { SIGNAL_LIMIT } from '../signals/signals-operation.ts';
import { COMPANY_CREDITS, findCompanyText } from '../lookups/company.ts';
import type { SparseRecord } from '../records/whole-record.ts';
import { enrichOne, enrichmentEvent, type EnrichDependencies } from '../lookups/enrich.ts';
import { revealOne } from '../lookups/reveal.ts';
import { searchPage, shownContact, type SearchDependencies } from '../search/contact-page.ts';
import { signalPage } from '../signals/signal-page.ts';
import type { QueryValues } from '../signals/signal-query.ts';
import type { SignalFeed } from '../store/rows/signal-feed.ts';
import { verifyOnce, type VerifyDependencies } from '../verify/verify.ts';
import { allNamed, idsOf, signalsIn, type Named } from '../store/identity/named-people.ts';
import { BodyReader } from '../http/body-reader.ts';

type CallArguments = Readonly<Record<string, unknown>>;
export interface Done {
  readonly value: unknown;
  readonly credits: number;
  /** The people whom the whole record names, whichever fields are asked for. */
  readonly named: Named;
  /** The work of a search, in units; absent for other calls. */
  readonly units?: number;
}

/** The needs of the use cases of all fields, together. */
export interface GraphqlDependencies extends SearchDependencies, EnrichDependencies, VerifyDependencies {
  readonly webhooks: EnrichDependencies['webhooks'];
  readonly signals: SignalFeed;
}

interface RestCall {
  readonly isFree: boolean;
  /** How many rows it answers at most; none: one record. */
  readonly rows?: (args: CallArguments) => number;
  /** @throws ServiceError as REST would */
  run(dependencies: GraphqlDependencies, args: CallArguments): Steps<Done | Promise<Done>>;
  /** Prepares the webhook event of what it found, to be called once all calls are done; none: it has no event. */
  eventOf?(dependencies: GraphqlDependencies, charge: Charge, args: CallArguments, found: Done): () => void;
}

export type CallName = 'contacts' | 'contact' | 'company' | 'signals' | 'enrich' | 'reveal' | 'verifyEmails';

export const CALLS: Readonly<Record<CallName, RestCall>> = {
  contacts: {
    isFree: true,
    rows: rowsOf(SEARCH_LIMIT.schema),
    *run(dependencies, { filter, sort = null, first = null, after = null }) {
      const { contacts, total, next, units } = yield* renamed(
        () => searchPage(dependencies, { ...(filter as CallArguments | undefined), sort, limit: first, cursor: after }),
        (pointer) => (pointer === '/sort' ? pointer : `/filter${pointer}`),
      );
      return {
        value: { ...connectionOf(contacts, after, next), totalCount: total, totalRelation: 'eq' },
        credits: 0,
        named: { people: contacts.map(({ id }) => id) },
        units,
      };
    },
  },
  contact: {
    isFree: true,
    run: ({ directory }, args) =>
      oneStep(() => {
        const reader = new BodyReader(args, CONTACT_BODY);
        const lookup = readLookup(reader, CONTACT_BODY.forms);
        reader.finish();
        // `finish` has thrown unless there is one good lookup, and CONTACT_BODY has none by domain.
        const { row } = findPerson(directory, lookup as Exclude<PersonLookup, { by: 'domain' }>);
        return { value: shownContact(row, directory), credits: 0, named: { people: [row.id] } };
      }),
  },
  company: {
    isFree: false,
    run: ({ directory }, { domain }) =>
      oneStep(() => done({ text: findCompanyText(directory, domain as string), credits: COMPANY_CREDITS })),
  },
  signals: {
    isFree: true,
    rows: rowsOf(SIGNAL_LIMIT.schema),
    *run(dependencies, { first, after, ...filter }) {
      const given = Object.entries({ ...filter, limit: first, cursor: after }).filter(([, value]) => value !== null && value !== undefined);
      const query: QueryValues = Object.fromEntries(
        given.map(([name, value]) => [name, Array.isArray(value) ? (value as string[]) : String(value)]),
      );
      const { signals, next } = yield* renamed(() => signalPage(dependencies.signals, query));
      return { value: connectionOf(signals, after, next), credits: 0, named: { signals: idsOf(signals.map(({ record }) => record)) } };
    },
  },
  enrich: {
    isFree: false,
    run: (dependencies, args) => oneStep(() => andThen(enrichOne(dependencies, args), done)),
    eventOf: (dependencies, charge, args, { value }) => enrichmentEvent(dependencies, charge, args, () => value as SparseRecord),
  },
  reveal: {
    isFree: false,
    run: (dependencies, args) => oneStep(() => andThen(revealOne(dependencies, args), done)),
  },
  verifyEmails: {
    isFree: false,
    rows: ({ emails }) => (emails as readonly unknown[]).length,
    run: (dependencies, args) => oneStep(() => andThen(verifyOnce(dependencies, args), done)),
  },
};

function done({ text, credits, named = {} }: Pick<EndpointAnswer, 'text' | 'credits' | 'named'>): Done {
  return { value: JSON.parse(text), credits, named: allNamed([named, { signals: signalsIn(text) }]) };
}

function rowsOf({ maximum, default: usual }: { readonly maximum: number; readonly default: number }): (args: CallArguments) => number {
  return ({ first }) => Math.min(Math.max(typeof first === 'number' ? first : usual, 0), maximum);
}

/** A page as a connection; the cursors are written when they are asked for. */
function connectionOf(
  rows: readonly { readonly record: unknown; readonly cursor: () => string }[],
  after: unknown,
  next: string | null,
): Readonly<Record<string, unknown>> {
  return {
    edges: rows.map(({ record, cursor }) => ({ node: record, cursor })),
    pageInfo: {
      hasNextPage: next !== null,
      hasPreviousPage: typeof after === 'string',
      startCursor: () => rows.at(0)?.cursor() ?? null,
      endCursor: () => rows.at(-1)?.cursor() ?? null,
    },
  };
}

/** Names of connections for names of REST. */
const NAMES: Readonly<Record<string, string>> = { limit: 'first', cursor: 'after', next_cursor: 'endCursor' };

/** Has what is wrong with a page told by the names that were given; `placed` says where else a pointer of REST points to. */
function* renamed<T>(find: () => Steps<T>, placed: (pointer: string) => string = (pointer) => pointer): Steps<T> {
  try {
    return yield* find();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { code, message, errors, headers } = error;
    const isPaging = ({ pointer, parameter }: ErrorItem): boolean => NAMES[parameter ?? pointer?.slice(1) ?? ''] !== undefined;
    const told = (text: string): string => text.replaceAll(/\b(?:limit|cursor|next_cursor)\b/g, (name) => NAMES[name] ?? name);
    const retold = (item: ErrorItem): ErrorItem => {
      if (isPaging(item)) return JSON.parse(told(JSON.stringify(item))) as ErrorItem;
      return item.pointer === undefined ? item : { ...item, pointer: placed(item.pointer) };
    };
    throw new ServiceError(code, errors.some(isPaging) ? told(message) : message, { errors: errors.map(retold), headers });
  }
}
