/** Counts the requests that a run would send, without a request. */
import { DatabaseSync } from 'node:sqlite';
import type { PersonRecord } from '../../client/types.ts';
import type { LedgerAnswer } from '../../ledger/ledger.ts';
import type { ReadOnlyLedger } from '../../ledger/read-only-ledger.ts';
import { verifyKey, type KeysOf, type Lookups, type RecordKeys } from '../../processor/lookup-keys.ts';
import { lookupScopes, type LookupScopes } from '../../processor/scopes.ts';
import { requestsFor, type KeptSize } from '../../lookup/request-size.ts';
import { VERIFY_BATCH } from '../../processor/verify.ts';
import type { InputRecord } from '../../formats/input-record.ts';
import type { PaidLookups } from './plan-credits.ts';
import type { WaterfallCounting } from './plan-waterfall.ts';
import type { Step } from '../../definition/steps.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';

/** A set on the disk, so that memory does not grow with the input. */
export interface Seen {
  /** True when the key was not there before. */
  add(key: string): boolean;
}

/** Takes records through the steps as `RecordProcessor` does, with answers of the ledger only. */
export class PlanCounting {
  records = 0;
  invalid = 0;
  /** Records that `input.where` leaves out. */
  skipped = 0;
  /** Records with fields beyond the header's last column, and the position of the first. */
  surplus = 0;
  firstSurplus: Pick<InputRecord, 'file' | 'line'> | null = null;
  /** Records whose address must be cleaned. */
  cleaned = 0;
  unique = 0;
  fromLedger = 0;
  /** Lookups that would be paid for. */
  readonly #asked: Record<Step, number> = { enrich: 0, verify: 0, company: 0, reveal: 0 };
  /** Verdicts on addresses that enrich has yet to find. */
  #verifyFound = 0;
  readonly #job: CompiledJob;
  readonly #keysOf: KeysOf;
  readonly #seen: Seen;
  readonly #ledger: ReadOnlyLedger | null;
  readonly #scopes: LookupScopes;
  /** Counts the lookups of a job that names its providers; null for a job with one service. */
  readonly #waterfalls: WaterfallCounting | null;

  constructor(
    job: CompiledJob,
    keysOf: KeysOf,
    seen: Seen,
    ledger: ReadOnlyLedger | null,
    origin: string,
    waterfalls: WaterfallCounting | null = null,
  ) {
    this.#waterfalls = waterfalls;
    this.#job = job;
    this.#keysOf = keysOf;
    this.#seen = seen;
    this.#ledger = ledger;
    this.#scopes = lookupScopes((step, options) => ledger?.scope(origin, step, options) ?? -1, job.service.domainField, job);
  }

  /** Fetches the answers for all lookups of these records from the ledger, then those of the lookups that follow from them. */
  async fetch(records: readonly InputRecord[]): Promise<void> {
    const ask = this.#ledger?.fetch ?? null;
    if (ask === null) return;
    const known = records.flatMap((record) => {
      const keys = record.bad === null ? this.#keysOf(record) : 'bad_row';
      return typeof keys === 'string' ? [] : [{ keys }];
    });
    if (this.#waterfalls !== null) {
      await this.#waterfalls.fetch(known, ask);
      return;
    }
    await ask(
      known.flatMap(({ keys: { enrich, company, reveal } }) => [
        ...lookupsIn(enrich).map(({ by, key }) => ({ scope: this.#scopes.enrich[by], key })),
        ...(company === null ? [] : [{ scope: this.#scopes.company, key: company }]),
        ...lookupsIn(reveal).map(({ by, key }) => ({ scope: this.#scopes.reveal[by], key })),
      ]),
    );
    await ask(
      known.flatMap(({ keys }) => {
        const email = this.#addressOf(keys, this.#enriched(keys));
        return email === null ? [] : [{ scope: this.#scopes.verify, key: email }];
      }),
    );
  }

  /** @returns null when the record is counted already, so that a job with one service never waits */
  add(record: InputRecord): Promise<void> | null {
    this.records++;
    if (record.surplus) {
      this.surplus++;
      this.firstSurplus ??= { file: record.file, line: record.line };
    }
    const keys = record.bad === null ? this.#keysOf(record) : 'bad_row';
    if (keys === 'skipped') this.skipped++;
    else if (typeof keys === 'string') this.invalid++;
    else {
      if (keys.cleanedEmail !== null) this.cleaned++;
      if (this.#waterfalls !== null) return this.#waterfalls.follow(keys);
      this.#follow(keys);
    }
    return null;
  }

  /** A lookup that the ledger does not know counts as if it were answered with a match. */
  #follow(keys: RecordKeys): void {
    const [enrich = null] = keys.enrich;
    const isNew = enrich !== null && this.#count('enrich', this.#scopes.enrich[enrich.by], enrich.key);
    const person = this.#enriched(keys);
    if (endsRecord(person)) return;
    const email = this.#addressOf(keys, person);
    if (email !== null) {
      this.#count('verify', this.#scopes.verify, email);
      if (endsRecord(this.#look(this.#scopes.verify, email))) return;
    } else if (isNew && person === null && this.#job.steps.includes('verify') && keys.verify === null) {
      // The lookup counts as if it found an address, which no other record has.
      this.#asked.verify++;
      this.#verifyFound++;
    }
    if (keys.company !== null) {
      this.#count('company', this.#scopes.company, keys.company);
      if (endsRecord(this.#look(this.#scopes.company, keys.company))) return;
    }
    const [reveal = null] = keys.reveal;
    if (reveal !== null) this.#count('reveal', this.#scopes.reveal[reveal.by], reveal.key);
  }

  /** The address that the record's verify step will ask about, as far as known. */
  #addressOf(keys: RecordKeys, answer: LedgerAnswer | null): string | null {
    if (!this.#job.steps.includes('verify') || endsRecord(answer)) return null;
    if (answer === null || answer.kind === 'miss') return keys.verify;
    const person = 'text' in answer ? (JSON.parse(answer.text) as Partial<PersonRecord> | null) : null;
    if (this.#job.verify.when === 'unverified' && person?.verified === true) return null;
    return keys.verify === null && typeof person?.email === 'string' ? verifyKey(person.email) : keys.verify;
  }

  /** Lookups that would be paid for. */
  get paid(): PaidLookups {
    return { asked: { ...this.#asked }, verifyFound: this.#verifyFound };
  }

  /** @param from the size of verify requests, as the last run found it */
  requests(from: KeptSize | null): Readonly<Record<Step | 'total', number>> {
    const requests = { ...this.#asked, verify: requestsFor(this.#asked.verify, { largest: VERIFY_BATCH, from }) };
    return { ...requests, total: Object.values(requests).reduce((sum, count) => sum + count, 0) };
  }

  /** True the first time that a lookup is counted. */
  #count(step: Step, scope: number, key: string): boolean {
    if (!this.#seen.add(`${step} ${scope} ${key}`)) return false;
    this.unique++;
    if (this.#look(scope, key) === null) this.#asked[step]++;
    else this.fromLedger++;
    return true;
  }

  #enriched({ enrich: [enrich = null] }: RecordKeys): LedgerAnswer | null {
    return enrich === null ? null : this.#look(this.#scopes.enrich[enrich.by], enrich.key);
  }

  #look(scope: number, key: string): LedgerAnswer | null {
    const known = this.#ledger?.look(scope, key) ?? null;
    // A lookup that a stopped run was asking for has no answer yet.
    return known?.kind === 'asking' ? null : known;
  }
}

function lookupsIn<L>(lookups: Lookups<L>): readonly L[] {
  return lookups.filter((lookup) => lookup !== null);
}

/** True when no further step runs after this answer. */
function endsRecord(answer: LedgerAnswer | null): boolean {
  return answer?.kind === 'suppressed' || answer?.kind === 'failed';
}

/** A set of keys on disk. */
export class KeySet implements Seen {
  readonly #db: DatabaseSync;
  readonly #insert;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec(
      'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; CREATE TABLE keys (key TEXT PRIMARY KEY) WITHOUT ROWID, STRICT; BEGIN',
    );
    this.#insert = this.#db.prepare('INSERT OR IGNORE INTO keys VALUES (?)');
  }

  /** True when the key was not there before. */
  add(key: string): boolean {
    return this.#insert.run(key).changes === 1;
  }

  close(): void {
    this.#db.close();
  }
}
