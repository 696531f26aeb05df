/** The fields at the top, each by the call of REST that it is: what that does, answers and costs. */
import type { Answer, Call, ServiceContext } from '../context.ts';
import { ServiceError, type ErrorItem } from '../errors.ts';
import { findPerson, readLookup, type Lookup } from '../lookup.ts';
import { CONTACT_BODY } from '../operations/graphql.ts';
import { SEARCH_LIMIT } from '../operations/search.ts';
import { SIGNAL_LIMIT } from '../operations/signals.ts';
import { companyByAny, COMPANY_CREDITS } from '../routes/companies.ts';
import type { SparseRecord } from '../records.ts';
import { announcementOf, enrichOne } from '../routes/enrich.ts';
import { revealOne } from '../routes/reveal.ts';
import { searchPage, shownContact } from '../routes/search.ts';
import type { QueryValues } from '../routes/signal-query.ts';
import { signalPage } from '../routes/signals.ts';
import { verifyOnce } from '../routes/verify.ts';
import { allNamed, idsOf, signalsIn, type Named } from '../store/named.ts';
import { BodyReader } from '../validate.ts';

export type CallArguments = Readonly<Record<string, unknown>>;
export interface Done {
  readonly value: unknown;
  readonly credits: number;
  /** Whom the answer names, whichever fields are asked for, and by whatever names. */
  readonly named: Named;
}

interface RestCall {
  readonly isFree: boolean;
  /** It looks through everything, so that others are let in between. */
  readonly isLong: boolean;
  /** How many rows it answers at most; none: one record. */
  readonly rows?: (args: CallArguments) => number;
  /** @throws ServiceError as REST would */
  run(context: ServiceContext, args: CallArguments): Done | Promise<Done>;
  /** What has webhooks told of what it found, once all is done; none: nobody is. */
  announcementOf?(context: ServiceContext, call: Call, args: CallArguments, found: Done): () => void;
}

export type CallName = 'contacts' | 'contact' | 'company' | 'signals' | 'enrich' | 'reveal' | 'verifyEmails';

export const CALLS: Readonly<Record<CallName, RestCall>> = {
  contacts: {
    isFree: true,
    isLong: true,
    rows: rowsOf(SEARCH_LIMIT.schema),
    run(context, { filter, sort = null, first = null, after = null }) {
      const { contacts, total, next } = renamed(() => searchPage(context, { ...(filter as CallArguments | undefined), sort, limit: first, cursor: after }), (pointer) => (pointer === '/sort' ? pointer : `/filter${pointer}`));
      return { value: { ...connectionOf(contacts, after, next), totalCount: total, totalRelation: 'eq' }, credits: 0, named: { people: contacts.map(({ id }) => id) } };
    },
  },
  contact: {
    isFree: true,
    isLong: false,
    run({ directory }, args) {
      const reader = new BodyReader(args, CONTACT_BODY);
      const lookup = readLookup(reader, CONTACT_BODY.forms);
      reader.finish();
      // `finish` has thrown unless there is one good lookup, which is none by domain.
      const { row } = findPerson(directory, lookup as Exclude<Lookup, { by: 'domain' }>);
      return { value: shownContact(row, directory), credits: 0, named: { people: [row.id] } };
    },
  },
  company: { isFree: false, isLong: false, run: ({ directory }, { domain }) => done({ text: companyByAny(directory, domain as string), credits: COMPANY_CREDITS }) },
  signals: {
    isFree: true,
    isLong: true,
    rows: rowsOf(SIGNAL_LIMIT.schema),
    run(context, { first, after, ...filter }) {
      const given = Object.entries({ ...filter, limit: first, cursor: after }).filter(([, value]) => value !== null && value !== undefined);
      const query: QueryValues = Object.fromEntries(given.map(([name, value]) => [name, Array.isArray(value) ? (value as string[]) : String(value)]));
      const { signals, next } = renamed(() => signalPage(context.signals, query));
      return { value: connectionOf(signals, after, next), credits: 0, named: { signals: idsOf(signals.map(({ record }) => record)) } };
    },
  },
  enrich: { isFree: false, isLong: false, run: async (context, args) => done(await enrichOne(context, args)), announcementOf: (context, call, args, { value }) => announcementOf(context, call, args, () => value as SparseRecord) },
  reveal: { isFree: false, isLong: false, run: async (context, args) => done(await revealOne(context, args)) },
  verifyEmails: { isFree: false, isLong: false, rows: ({ emails }) => (emails as readonly unknown[]).length, run: async (context, args) => done(await verifyOnce(context, args)) },
};

function done({ text, credits, named = {} }: Pick<Answer, 'text' | 'credits' | 'named'>): Done {
  return { value: JSON.parse(text), credits, named: allNamed([named, { signals: signalsIn(text) }]) };
}

function rowsOf({ maximum, default: usual }: { readonly maximum: number; readonly default: number }): (args: CallArguments) => number {
  return ({ first }) => Math.min(Math.max(typeof first === 'number' ? first : usual, 0), maximum);
}

/** A page as a connection; the cursors are written when they are asked for. */
function connectionOf(rows: readonly { readonly record: unknown; readonly cursor: () => string }[], after: unknown, next: string | null): Readonly<Record<string, unknown>> {
  return {
    edges: rows.map(({ record, cursor }) => ({ node: record, cursor })),
    pageInfo: { hasNextPage: next !== null, hasPreviousPage: typeof after === 'string', startCursor: () => rows.at(0)?.cursor() ?? null, endCursor: () => rows.at(-1)?.cursor() ?? null },
  };
}

/** What connections have other names for than REST has. */
const NAMES: Readonly<Record<string, string>> = { limit: 'first', cursor: 'after', next_cursor: 'endCursor' };

/** Has what is wrong with a page told by the names that were given; `placed` says where else a pointer of REST points to. */
function renamed<T>(find: () => T, placed: (pointer: string) => string = (pointer) => pointer): T {
  try {
    return find();
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
