/** Reads signals: pages with the newest first, and the stream in the order of arrival. */
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
/** Rows of the stream that one call examines, so that a rare match does not block other requests. */
const WINDOW = 5_000;
/** A company may have more domains than SQLite allows variables. With few, SQLite uses an index in order. */
const MOST_VARIABLES = 1_000;

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
  page(filter: SignalFilter, after: SignalPosition | null, limit: number): Signal[] {
    const { conditions, values } = conditionsOf(this.#byAllDomains(filter));
    if (after !== null) {
      conditions.push('(occurred_at, seq) < (?, ?)');
      values.push(after.occurredMs, after.seq);
    }
    return this.#read(`${where(conditions)} ORDER BY occurred_at DESC, seq DESC LIMIT ?`, [...values, limit]);
  }

  /**
   * The next matching signals of the stream after `seq`, and the position up to which rows were examined. Fewer than `limit` do not mean
   * the end of the stream.
   */
  following(filter: SignalFilter, seq: number, limit: number): { signals: Signal[]; upTo: number } {
    const end = Math.min(seq + WINDOW, Math.max(seq, this.last()));
    if (end === seq) return { signals: [], upTo: seq };
    const { conditions, values } = conditionsOf(this.#byAllDomains(filter));
    const signals = this.#read(`${where([...conditions, 'seq > ?', 'seq <= ?'])} ORDER BY seq LIMIT ?`, [...values, seq, end, limit]);
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

  #read(clause: string, values: readonly (string | number)[]): Signal[] {
    return this.#store
      .prepare(`SELECT seq, occurred_at, company_domain, doc FROM signals ${clause}`)
      .all(...values)
      .map((row) => ({
        seq: row['seq'] as number,
        occurredMs: row['occurred_at'] as number,
        record: this.#record(JSON.parse(row['doc'] as string) as SparseRecord, row['company_domain'] as string),
      }));
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

function conditionsOf({ types, since, before, domains, countries, industries }: SignalFilter): {
  conditions: string[];
  values: (string | number)[];
} {
  const conditions: string[] = [];
  const values: (string | number)[] = [];
  for (const [column, list] of [
    ['type', types],
    ['company_domain', domains],
    ['country', countries],
    ['industry', industries],
  ] as const) {
    if (list.length === 0) continue;
    const isLong = list.length > MOST_VARIABLES;
    conditions.push(`${column} IN (${isLong ? 'SELECT value FROM json_each(?)' : list.map(() => '?').join(', ')})`);
    values.push(...(isLong ? [JSON.stringify(list)] : list));
  }
  if (since !== null) {
    conditions.push('occurred_at >= ?');
    values.push(since);
  }
  if (before !== null) {
    conditions.push('occurred_at < ?');
    values.push(before);
  }
  return { conditions, values };
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
}
