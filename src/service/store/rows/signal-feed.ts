/** Reads signals: pages with the newest first, and the stream in the order of arrival. */
import type { Steps } from '../../../util/steps.ts';
import type { SignalType } from '../../records/signal-types.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { SIGNAL, SIGNAL_FIELDS } from '../../records/signal-fields.ts';
import { domainsReader, ownerReader } from '../identity/domain-aliases.ts';
import type { Store } from '../store.ts';

export interface SignalFilter {
  readonly types: readonly SignalType[];
  /** Epoch milliseconds: `since` inclusive, `before` exclusive. */
  readonly since: number | null;
  readonly before: number | null;
  readonly domains: readonly string[];
  readonly countries: readonly string[];
  /** As values are compared. */
  readonly industries: readonly string[];
}

export interface Signal {
  /** Its position in the stream. */
  readonly seq: number;
  readonly occurredMs: number;
  readonly record: SparseRecord;
}

/** The position where a page ended. */
export interface SignalPosition {
  readonly occurredMs: number;
  readonly seq: number;
}

const COMPANY_FIELDS = Object.keys(SIGNAL.company.fields);
/** Rows that one step examines, so that a rare match does not block other requests, and the units of work that this takes at most. */
const [WINDOW, WINDOW_UNITS] = [2_000, 300];
/** The first step of a page examines fewer rows: most filters fill a page soon. */
const FIRST_WINDOW = 250;
/** Writing a signal with its company takes this many units of work. */
const SIGNAL_UNITS = 3;
/** A company may have more domains than SQLite allows variables. With few, SQLite uses an index in order. */
const MOST_VARIABLES = 1_000;

const NEWEST_FIRST = 'ORDER BY occurred_at DESC, seq DESC';

interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

type SignalRow = Readonly<Record<string, unknown>>;

export class SignalFeed {
  readonly #store: Store;
  readonly #company;
  readonly #ownerOf;
  readonly #domainsOf;
  readonly #last;

  constructor(store: Store) {
    this.#store = store;
    this.#company = store.prepare('SELECT doc FROM companies WHERE domain = ?');
    this.#ownerOf = ownerReader(store);
    this.#domainsOf = domainsReader(store);
    this.#last = store.prepare('SELECT max(seq) AS seq FROM signals');
  }

  /** The newest signals after a position, at most `limit`. */
  *page(filter: SignalFilter, after: SignalPosition | null, limit: number): Steps<Signal[]> {
    const asked = this.#byAllDomains(filter);
    const walk = walkOf(asked);
    const conditions = conditionsOf(asked, walk);
    const found: Signal[] = [];
    let from = after;
    for (let size = FIRST_WINDOW; ; size = Math.min(2 * size, WINDOW)) {
      const begun = [...conditions, ...(from === null ? [] : [positionIs('<', from)])];
      const end = walk === null ? null : this.#windowEnd([...walk.conditions, ...(from === null ? [] : [positionIs('<', from)])], size);
      const rows = this.#rows([...begun, ...(end === null ? [] : [positionIs('>=', end)])], NEWEST_FIRST, limit - found.length);
      yield Math.ceil((size * WINDOW_UNITS) / WINDOW);
      for (const row of rows) {
        found.push(this.#signal(row));
        yield SIGNAL_UNITS;
      }
      if (found.length === limit || end === null) return found;
      from = end;
    }
  }

  /** The position of the last of `size` rows; null when fewer are left. */
  #windowEnd(conditions: readonly Condition[], size: number): SignalPosition | null {
    const row = this.#store
      .prepare(`SELECT occurred_at, seq FROM signals ${where(conditions)} ${NEWEST_FIRST} LIMIT 1 OFFSET ${size - 1}`)
      .get(...valuesOf(conditions));
    return row === undefined ? null : { occurredMs: row['occurred_at'] as number, seq: row['seq'] as number };
  }

  /**
   * The next matching signals of the stream after `seq`, and the position up to which rows were examined. Fewer than `limit` do not mean
   * the end of the stream.
   */
  following(filter: SignalFilter, seq: number, limit: number): { signals: Signal[]; upTo: number } {
    const end = Math.min(seq + WINDOW, Math.max(seq, this.last()));
    if (end === seq) return { signals: [], upTo: seq };
    const within = [
      { sql: 'seq > ?', values: [seq] },
      { sql: 'seq <= ?', values: [end] },
    ];
    const rows = this.#rows([...conditionsOf(this.#byAllDomains(filter), null), ...within], 'ORDER BY seq', limit);
    const signals = rows.map((row) => this.#signal(row));
    return { signals, upTo: signals.length === limit ? (signals.at(-1)?.seq ?? end) : end };
  }

  /** The end of the stream; 0 if it is empty. */
  last(): number {
    return Number(this.#last.get()?.['seq'] ?? 0);
  }

  /** A domain stands for its company, and so for all domains of it. */
  #byAllDomains(filter: SignalFilter): SignalFilter {
    return { ...filter, domains: [...new Set(filter.domains.flatMap((domain) => this.#domainsOf(this.#ownerOf(domain) ?? domain)))] };
  }

  #rows(conditions: readonly Condition[], order: string, limit: number): SignalRow[] {
    return this.#store
      .prepare(`SELECT seq, occurred_at, company_domain, doc FROM signals ${where(conditions)} ${order} LIMIT ?`)
      .all(...valuesOf(conditions), limit);
  }

  #signal(row: SignalRow): Signal {
    return {
      seq: row['seq'] as number,
      occurredMs: row['occurred_at'] as number,
      record: this.#record(JSON.parse(row['doc'] as string) as SparseRecord, row['company_domain'] as string),
    };
  }

  /** The signal with the company's current data. */
  #record(doc: SparseRecord, domain: string): SparseRecord {
    const row = this.#company.get(this.#ownerOf(domain) ?? domain);
    const about: SparseRecord = {
      ...(doc['company'] as SparseRecord),
      ...(row === undefined ? {} : (JSON.parse(row['doc'] as string) as SparseRecord)),
    };
    const company = Object.fromEntries(COMPANY_FIELDS.map((field) => [field, about[field] ?? null]));
    return Object.fromEntries(SIGNAL_FIELDS.map((field) => [field, field === 'company' ? company : (doc[field] ?? null)]));
  }
}

/** A signal within its company's record, without the company. */
export function companySignal(doc: SparseRecord): SparseRecord {
  return Object.fromEntries(SIGNAL_FIELDS.filter((field) => field !== 'company').map((field) => [field, doc[field] ?? null]));
}

/** An index in order of time that a page walks through, window by window. */
interface Walk {
  /** The condition of this column is the one by which the index is found; null: the index has all signals. */
  readonly column: 'type' | 'country' | 'industry' | null;
  readonly conditions: readonly Condition[];
}

/** Null where no window is needed: each row of the order is a match, or an index finds the few signals of some companies. */
function walkOf(filter: SignalFilter): Walk | null {
  const { types, domains, countries, industries } = filter;
  if (domains.length > 0 || [types, countries, industries].every((list) => list.length === 0)) return null;
  // The one that matches most rarely comes first. An index is in order of time for one value only.
  const found = (
    [
      ['industry', industries],
      ['country', countries],
      ['type', types],
    ] as const
  ).find(([, list]) => list.length === 1);
  const times = timesOf(filter);
  return found === undefined
    ? { column: null, conditions: times }
    : { column: found[0], conditions: [{ sql: `${found[0]} = ?`, values: found[1] }, ...times] };
}

/** @param walk the conditions of other columns use no index, as SQLite uses none for an expression; null when SQLite may choose */
function conditionsOf(filter: SignalFilter, walk: Walk | null): Condition[] {
  const { types, domains, countries, industries } = filter;
  const listed = (
    [
      ['type', types],
      ['company_domain', domains],
      ['country', countries],
      ['industry', industries],
    ] as const
  ).flatMap(([column, list]): Condition[] => {
    if (list.length === 0) return [];
    const isLong = list.length > MOST_VARIABLES;
    const left = walk === null || walk.column === column ? column : `+${column}`;
    return [
      {
        sql: `${left} IN (${isLong ? 'SELECT value FROM json_each(?)' : list.map(() => '?').join(', ')})`,
        values: isLong ? [JSON.stringify(list)] : list,
      },
    ];
  });
  return [...listed, ...timesOf(filter)];
}

function timesOf({ since, before }: SignalFilter): Condition[] {
  return [
    ...(since === null ? [] : [{ sql: 'occurred_at >= ?', values: [since] }]),
    ...(before === null ? [] : [{ sql: 'occurred_at < ?', values: [before] }]),
  ];
}

function positionIs(order: '<' | '>=', { occurredMs, seq }: SignalPosition): Condition {
  return { sql: `(occurred_at, seq) ${order} (?, ?)`, values: [occurredMs, seq] };
}

function where(conditions: readonly Condition[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`;
}

function valuesOf(conditions: readonly Condition[]): (string | number)[] {
  return conditions.flatMap(({ values }) => values);
}
