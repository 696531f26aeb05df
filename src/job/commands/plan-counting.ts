/**
 * Counts the lookups that a run would make, without a request. Answers of the ledger are known. A lookup whose earlier providers have no
 * answer yet is counted with them, so that a forecast can say how probable it is.
 */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { Waterfall } from '../../definition/waterfall.ts';
import type { InputRecord } from '../../formats/input-record.ts';
import { hasTicket, isFromSample, type LedgerAnswer } from '../../ledger/answer.ts';
import type { LedgerLookup, ReadOnlyLedger } from '../../ledger/read-only-ledger.ts';
import type { KeysOf, LookupBy, RecordKeys } from '../../processor/lookup-keys.ts';
import { fill, hasAll, ofOne, type SourcedRecord } from '../../processor/merge-records.ts';
import { stepsRead, type StepConditions } from '../../processor/step-conditions.ts';
import { lookupsFor, scopeOf, stepsNeeded, textFound, type RecordSoFar } from '../../processor/walk.ts';
import { specOf, type Step } from '../../steps/registry.ts';
import { present } from '../../util/assert.ts';
import { providerScopes } from '../lifecycle/provider-scopes.ts';
import { isJudged } from '../../providers/client/is-judged.ts';
import { ASKED_AGAIN, readKeptRecord } from './kept-record.ts';
import type { Seen } from './key-set.ts';
import { bits, countOpen, countRecord, type Asked, type FoundBy, type Places, type PlanCounts } from './plan-counts.ts';

/** A lookup in the ledger. */
interface Known {
  readonly answer: LedgerAnswer | null;
  /** The answer is promised: it is asked for, and not paid for again. */
  readonly isPromised: boolean;
}

/** An answer, and the record of a match; null where the ledger has none that a run would take. */
interface KeptAnswer {
  readonly answer: LedgerAnswer | null;
  readonly record: Readonly<Record<string, unknown>> | null;
}

type AnyRecord = Readonly<Record<string, unknown>>;

/** A record after a step, as far as the ledger knows. */
interface Walked {
  readonly found: SourcedRecord | null;
  /** Asked providers without a known answer. */
  readonly unknown: Places;
  /** One of their lookups was not counted before. */
  readonly isNew: boolean;
  /** No further step runs, whatever the unknown answers are. */
  readonly ends: boolean;
}

const NOTHING: Walked = { found: null, unknown: 0, isNew: false, ends: false };

/** Takes records through the steps as `RecordProcessor` does, with answers of the ledger only. */
export class PlanCounting {
  records = 0;
  invalid = 0;
  /** Records that `input.where` leaves out. */
  skipped = 0;
  /** Records of people whom the job never asks about. */
  suppressed = 0;
  /** Records with fields beyond the header's last column, and the position of the first. */
  surplus = 0;
  firstSurplus: Pick<InputRecord, 'file' | 'line'> | null = null;
  /** Records whose address must be cleaned. */
  cleaned = 0;
  unique = 0;
  fromLedger = 0;
  /** An answer of the ledger came from sample data. */
  isSample = false;
  /** Lookups whose answer a provider has promised. */
  promised = 0;
  readonly #job: CompiledJob;
  readonly #keysOf: KeysOf;
  readonly #seen: Seen;
  readonly #ledger: ReadOnlyLedger | null;
  readonly #steps = new Map<Step, Asked>();
  /** The earlier steps that each step needs for its keys. */
  readonly #needs: ReadonlyMap<Step, readonly Step[]>;
  /** Steps whose records later steps or conditions read. */
  readonly #read: ReadonlySet<string>;
  readonly #conditions: StepConditions;

  constructor(
    job: CompiledJob,
    keysOf: KeysOf,
    checkpoint: Pick<Checkpoint, 'ledgerKey'>,
    seen: Seen,
    ledger: ReadOnlyLedger | null,
    conditions: StepConditions = {},
  ) {
    this.#job = job;
    this.#conditions = conditions;
    this.#keysOf = keysOf;
    this.#seen = seen;
    this.#ledger = ledger;
    this.#needs = new Map(job.steps.map((step) => [step, stepsNeeded(step, job)]));
    this.#read = new Set([...stepsRead(job.conditions), ...[...this.#needs.values()].flat()]);
    const scopes = new Map(
      job.providers.map((provider) => [
        provider.name,
        providerScopes(provider, job, checkpoint, (...scope) => ledger?.scope(...scope) ?? -1),
      ]),
    );
    for (const step of job.steps) {
      const rule = present(job.waterfalls[step], `the step ${step} asks providers`);
      const providers = rule.from.map((name) =>
        present(
          job.providers.find((one) => one.name === name),
          `the job has the provider ${name}`,
        ),
      );
      this.#steps.set(step, {
        step,
        rule,
        providers,
        scopes: rule.from.map((name) => scopes.get(name) ?? {}),
        known: providers.map(() => 0),
        settling: providers.map(() => 0),
        promised: providers.map(() => 0),
        open: providers.map(() => new Map()),
        records: new Map(),
      });
    }
  }

  /** Fetches the answers for all lookups of these records from a ledger on a network, then those of the lookups that follow from them. */
  async fetch(records: readonly InputRecord[]): Promise<void> {
    const ask = this.#ledger?.fetch ?? null;
    if (ask === null) return;
    const all = records.flatMap((record) => {
      const keys = this.#keysIn(record);
      return typeof keys === 'string' ? [] : [keys];
    });
    // The steps that need no other one, in one request; then each that does, by what the ledger has of the others.
    const depends = (step: Step): boolean => (this.#needs.get(step) ?? []).length > 0;
    await ask(all.flatMap((keys) => this.#job.steps.flatMap((step) => known(this.#lookups(step, { keys, recordOf: () => null })))));
    for (const step of this.#job.steps.filter(depends)) {
      const found: LedgerLookup[] = [];
      for (const keys of all) found.push(...(await this.#knownLookups(step, keys)));
      await ask(found);
    }
  }

  async add(record: InputRecord): Promise<void> {
    this.records++;
    if (record.surplus) {
      this.surplus++;
      this.firstSurplus ??= { file: record.file, line: record.line };
    }
    const keys = this.#keysIn(record);
    if (keys === 'skipped') this.skipped++;
    else if (keys === 'suppressed') this.suppressed++;
    else if (typeof keys === 'string') this.invalid++;
    else {
      if (keys.cleanedEmail !== null) this.cleaned++;
      await this.#follow(keys, record);
    }
  }

  #keysIn(record: InputRecord): ReturnType<KeysOf> | 'bad_row' {
    return record.bad === null ? this.#keysOf(record) : 'bad_row';
  }

  /** Takes a record through the steps. */
  async #follow(keys: RecordKeys, record: InputRecord): Promise<void> {
    const before = new Map<Step, Walked>();
    const recordOf = (name: Step): AnyRecord | null => knownRecord(before.get(name) ?? NOTHING);
    const resultOf = (name: Step): AnyRecord | null | undefined => ((before.get(name)?.unknown ?? 0) === 0 ? recordOf(name) : undefined);
    for (const step of this.#job.steps) {
      // An unknown condition counts as true.
      if (this.#conditions[step]?.({ record, recordOf: resultOf }) === false) continue;
      const found = this.#mayBeFound(step, keys, before, recordOf);
      if (found !== null) {
        // A lookup without an answer counts as if it may find a key, which no other record has.
        if (before.get(found.step)?.isNew === true) this.#countFound(step, found);
        before.set(step, { ...NOTHING, unknown: bits(this.#steps.get(step)?.providers.length ?? 0) - 1, isNew: true });
        continue;
      }
      const lookups = this.#lookups(step, { keys, recordOf });
      if (lookups === null) continue;
      const walked = await this.#walk(step, lookups, this.#read.has(step));
      if (walked.ends) return;
      before.set(step, walked);
    }
  }

  /** The earlier step whose unknown answers may find the key of this step; null where its keys are known, or none can be found. */
  #mayBeFound(step: Step, keys: RecordKeys, before: ReadonlyMap<Step, Walked>, recordOf: RecordSoFar['recordOf']): FoundBy | null {
    const isUnknown = (name: Step): boolean => (before.get(name)?.unknown ?? 0) !== 0;
    const { follows } = specOf(step);
    const source =
      follows === undefined
        ? firstUnknown(this.#job.waterfalls[step]?.keys ?? [], keys.by?.[step], recordOf, isUnknown)
        : keys.lookups[step] === undefined && isUnknown(follows.step) && typeof recordOf(follows.step)?.[follows.field] !== 'string'
          ? follows.step
          : null;
    return source === null ? null : { step: source, places: before.get(source)?.unknown ?? 0 };
  }

  /** By step. */
  get counts(): PlanCounts {
    return Object.fromEntries(
      [...this.#steps].map(([step, { known, settling, promised, open, records }]) => [
        step,
        {
          places: open.map((buckets, place) => ({
            known: known[place] ?? 0,
            settling: settling[place] ?? 0,
            promised: promised[place] ?? 0,
            open: [...buckets.values()],
          })),
          records: [...records.values()],
        },
      ]),
    );
  }

  #countFound(step: Step, found: FoundBy): void {
    const asked = this.#steps.get(step);
    if (asked === undefined) return;
    for (let place = 0; place < asked.providers.length; place++) {
      // A job with one service counts only lookups whose key is known.
      if (this.#job.namesProviders) this.unique++;
      countOpen(asked, place, bits(place) - 1, found);
    }
    countRecord(asked, bits(asked.providers.length) - 1, 0, found);
  }

  /** @param needsRecord the record of a match matters to later steps */
  async #walk(step: Step, lookups: readonly (LedgerLookup | null)[], needsRecord = false): Promise<Walked> {
    const asked = this.#steps.get(step);
    if (asked === undefined || lookups.every((lookup) => lookup === null)) return NOTHING;
    const { rule } = asked;
    let walked: Walked = NOTHING;
    let hasFailed = false;
    let isOver = false;
    let unknown: Places = 0;
    let settled: Places = 0;
    for (const [place, lookup] of lookups.entries()) {
      if (lookup === null) continue;
      const { isPromised, ...known } = this.#look(lookup);
      const { answer, record } = await this.#readKept(asked, place, known.answer, needsRecord);
      const settles = answer?.kind === 'suppressed' || (record !== null && this.#settles(asked, record));
      if (answer === null) unknown |= bits(place);
      if (settles) settled |= bits(place);
      if (isOver) continue;
      const isNew = this.#count(asked, place, lookup, { answer, isPromised }, walked.unknown);
      if (isNew && answer !== null && settles) asked.settling[place]! += 1;
      if (answer === null) {
        walked = { ...walked, unknown: walked.unknown | bits(place), isNew: walked.isNew || isNew };
        continue;
      }
      hasFailed ||= answer.kind === 'failed';
      if (record !== null) walked = { ...walked, found: take(walked.found, record, asked, place) };
      isOver = settles || (record !== null && specOf(step).verdicts === null && hasAll(walked.found?.record ?? {}, rule.until));
      if (answer.kind === 'suppressed' && walked.unknown === 0) return { ...walked, ends: true };
    }
    if (asked.providers.length > 1 && this.#isFirst(asked, lookups)) countRecord(asked, unknown, settled, null);
    return { ...walked, ends: hasFailed && walked.found === null && walked.unknown === 0 };
  }

  #settles({ step, rule }: Asked, record: Readonly<Record<string, unknown>>): boolean {
    const { verdicts } = specOf(step);
    return verdicts === null ? hasAll(record, rule.until) : rule.until.includes(String(record[verdicts.field]));
  }

  /** An answer of the ledger as a run would take it, with the record of a match. The record is read only where it matters. */
  async #readKept({ step, rule, providers }: Asked, place: number, answer: LedgerAnswer | null, needsRecord: boolean): Promise<KeptAnswer> {
    const text = answer?.kind === 'hit' || answer?.kind === 'unsettled' || answer?.kind === 'miss' ? answer.text : undefined;
    if (text === undefined) return { answer, record: null };
    const provider = providers[place];
    const isSettled = answer?.kind !== 'miss' && isJudged(text);
    if (provider === undefined || (isSettled && rule.until.length === 0 && !needsRecord)) return { answer, record: {} };
    const record = await readKeptRecord(provider, step, text);
    if (record === ASKED_AGAIN) return { answer: null, record: null };
    return { answer: isSettled || record === null ? answer : { kind: 'hit', text }, record };
  }

  /** True the first time that a lookup is counted. */
  #count(asked: Asked, place: number, { scope, key }: LedgerLookup, { answer, isPromised }: Known, after: Places): boolean {
    // Without a ledger there are no scopes, and each provider has its own lookups all the same.
    const where = scope < 0 ? asked.rule.from[place] : scope;
    if (!this.#seen.add(`${asked.step} ${where} ${key}`)) return false;
    this.unique++;
    if (isPromised) {
      this.promised++;
      asked.promised[place]! += 1;
    } else if (answer === null) countOpen(asked, place, after, null);
    else {
      this.fromLedger++;
      asked.known[place]! += 1;
    }
    return true;
  }

  /** True the first time that a record with these lookups comes to a step. */
  #isFirst({ step }: Asked, lookups: readonly (LedgerLookup | null)[]): boolean {
    return this.#seen.add(`${step} of ${lookups.map((lookup) => (lookup === null ? '' : `${lookup.scope} ${lookup.key}`)).join('\n')}`);
  }

  /** A lookup that a stopped run was asking for has no answer yet. */
  #look({ scope, key }: LedgerLookup): Known {
    const known = this.#ledger?.look(scope, key) ?? null;
    if (known !== null && isFromSample(known)) this.isSample = true;
    return known?.kind === 'asking' ? { answer: null, isPromised: hasTicket(known.text) } : { answer: known, isPromised: false };
  }

  /** The lookups of a step by its own keys and by all that the ledger's answers to earlier steps find. */
  async #knownLookups(step: Step, keys: RecordKeys): Promise<LedgerLookup[]> {
    const found = known(this.#lookups(step, { keys, recordOf: () => null }));
    for (const needed of this.#needs.get(step) ?? [])
      for (const record of await this.#knownRecords(needed, keys))
        found.push(...known(this.#lookups(step, { keys, recordOf: (name) => (name === needed ? record : null) })));
    return found;
  }

  /** The records that the ledger has of a step, by any provider. */
  async #knownRecords(step: Step, keys: RecordKeys): Promise<AnyRecord[]> {
    const asked = this.#steps.get(step);
    if (asked === undefined) return [];
    const records: AnyRecord[] = [];
    for (const { scope, key } of await this.#knownLookups(step, keys)) {
      const place = asked.scopes.findIndex((own) => Object.values(own[step] ?? {}).includes(scope));
      const { record } = await this.#readKept(asked, Math.max(0, place), this.#look({ scope, key }).answer, true);
      if (record !== null) records.push(record);
    }
    return records;
  }

  /** The lookup of a step at each of its providers; null when the record skips the step. */
  #lookups(step: Step, soFar: RecordSoFar): readonly (LedgerLookup | null)[] | null {
    const scopes = this.#steps.get(step)?.scopes ?? [];
    const lookups = lookupsFor(step, soFar, this.#job);
    if (lookups === null) return null;
    return lookups.map((lookup, place) => {
      const own = scopes[place];
      return lookup === null ? null : { scope: own === undefined ? -1 : scopeOf(step, lookup, own), key: lookup.key };
    });
  }
}

/** A record as far as known: a provider without a known answer may still say that the address is not verified. */
function knownRecord({ found, unknown }: Walked): AnyRecord | null {
  const record = found?.record ?? null;
  return record === null || unknown === 0 ? record : { ...record, verified: false };
}

/** The step that has yet to find the first key in order; null where a key is known before. */
function firstUnknown(
  keys: Waterfall['keys'],
  lookupBy: LookupBy | undefined,
  recordOf: RecordSoFar['recordOf'],
  isUnknown: (step: Step) => boolean,
): Step | null {
  if (lookupBy === undefined) return null;
  for (const source of keys.flat()) {
    if (typeof source === 'string') {
      if (lookupBy(source) !== null) return null;
      continue;
    }
    const text = textFound(source, recordOf);
    if (text !== null && lookupBy(source.kind, text) !== null) return null;
    if (text === null && isUnknown(source.step)) return source.step;
  }
  return null;
}

function known(lookups: readonly (LedgerLookup | null)[] | null): LedgerLookup[] {
  return (lookups ?? []).filter((one) => one !== null);
}

/** As `LookupWaterfall` takes a match. */
function take(found: SourcedRecord | null, record: Readonly<Record<string, unknown>>, { rule }: Asked, place: number): SourcedRecord {
  const provider = rule.from[place] ?? '';
  if (found === null) return ofOne(record, provider);
  if (rule.fields === 'merge') return fill(found, record, provider);
  return hasAll(record, rule.until) ? ofOne(record, provider) : found;
}
