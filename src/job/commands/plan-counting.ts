/** Counts the requests that a run would send, without a request. */
import { serviceOf } from '../../definition/job-provider.ts';
import type { LedgerAnswer } from '../../ledger/ledger.ts';
import type { LedgerLookup, ReadOnlyLedger } from '../../ledger/read-only-ledger.ts';
import type { KeysOf, RecordKeys } from '../../processor/lookup-keys.ts';
import { lookupScopes, type LookupScopes } from '../../processor/scopes.ts';
import { lookupsFor, scopeOf, type RecordSoFar } from '../../processor/walk.ts';
import { requestsFor, type KeptSize } from '../../lookup/request-size.ts';
import { VERIFY_BATCH } from '../../processor/verify.ts';
import type { InputRecord } from '../../formats/input-record.ts';
import type { Seen } from './key-set.ts';
import type { PaidLookups } from './plan-credits.ts';
import type { WaterfallCounting } from './plan-waterfall.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { Step } from '../../steps/registry.ts';

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
    this.#scopes = lookupScopes(
      (step, options) => ledger?.scope(origin, step, options) ?? -1,
      serviceOf(job)?.domainField ?? 'domain',
      job,
    );
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
    const others = this.#job.steps.filter((step) => step !== 'verify');
    await ask(known.flatMap(({ keys }) => others.flatMap((step) => this.#lookup(step, { keys, person: null }) ?? [])));
    if (!this.#job.steps.includes('verify')) return;
    await ask(
      known.flatMap(({ keys }) => {
        const enrich = this.#lookup('enrich', { keys, person: null });
        return this.#lookup('verify', { keys, person: personIn(enrich === null ? null : this.#look(enrich)) }) ?? [];
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
    let person: RecordSoFar['person'] = null;
    let isNewPerson = false;
    for (const step of this.#job.steps) {
      const lookup = this.#lookup(step, { keys, person });
      if (lookup === null) {
        // The lookup counts as if it found an address, which no other record has.
        if (step === 'verify' && isNewPerson) {
          this.#asked.verify++;
          this.#verifyFound++;
        }
        continue;
      }
      const isNew = this.#count(step, lookup);
      const answer = this.#look(lookup);
      if (answer?.kind === 'suppressed' || answer?.kind === 'failed') return;
      if (step !== 'enrich') continue;
      person = personIn(answer);
      isNewPerson = isNew && answer === null;
    }
  }

  /** The lookup of a step at the one service; null when the record skips the step. */
  #lookup(step: Step, soFar: RecordSoFar): LedgerLookup | null {
    const [lookup = null] = lookupsFor(step, soFar, this.#job) ?? [];
    return lookup === null ? null : { scope: scopeOf(step, lookup, this.#scopes), key: lookup.key };
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
  #count(step: Step, lookup: LedgerLookup): boolean {
    if (!this.#seen.add(`${step} ${lookup.scope} ${lookup.key}`)) return false;
    this.unique++;
    if (this.#look(lookup) === null) this.#asked[step]++;
    else this.fromLedger++;
    return true;
  }

  #look({ scope, key }: LedgerLookup): LedgerAnswer | null {
    const known = this.#ledger?.look(scope, key) ?? null;
    // A lookup that a stopped run was asking for has no answer yet.
    return known?.kind === 'asking' ? null : known;
  }
}

/** The person in the ledger's answer; null without one. */
function personIn(answer: LedgerAnswer | null): RecordSoFar['person'] {
  return answer?.kind === 'hit' || answer?.kind === 'unsettled' ? (JSON.parse(answer.text) as RecordSoFar['person']) : null;
}
