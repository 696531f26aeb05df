/**
 * Counts the lookups that a run would make, without a request. Answers of the ledger are known. A lookup whose earlier providers have no
 * answer yet is counted with them, so that a forecast can say how probable it is.
 */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { InputRecord } from '../../formats/input-record.ts';
import { hasTicket, type LedgerAnswer } from '../../ledger/answer.ts';
import type { LedgerLookup, ReadOnlyLedger } from '../../ledger/read-only-ledger.ts';
import type { KeysOf, RecordKeys } from '../../processor/lookup-keys.ts';
import { fill, hasAll, ofOne, type SourcedRecord } from '../../processor/merge-records.ts';
import { stepsRead, type StepConditions } from '../../processor/step-conditions.ts';
import { lookupsFor, scopeOf, type RecordSoFar } from '../../processor/walk.ts';
import { specOf, type Step } from '../../steps/registry.ts';
import { present } from '../../util/assert.ts';
import { providerScopes } from '../lifecycle/provider-scopes.ts';
import { isJudged } from '../../providers/client/is-judged.ts';
import { ASKED_AGAIN, readKeptRecord } from './kept-record.ts';
import type { Seen } from './key-set.ts';
import { bits, countOpen, countRecord, type Asked, type Places, type PlanCounts } from './plan-counts.ts';

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

const NO_ANSWER: KeptAnswer = { answer: null, record: null };

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
  /** Records with fields beyond the header's last column, and the position of the first. */
  surplus = 0;
  firstSurplus: Pick<InputRecord, 'file' | 'line'> | null = null;
  /** Records whose address must be cleaned. */
  cleaned = 0;
  unique = 0;
  fromLedger = 0;
  /** Lookups whose answer a provider has promised. */
  promised = 0;
  readonly #job: CompiledJob;
  readonly #keysOf: KeysOf;
  readonly #seen: Seen;
  readonly #ledger: ReadOnlyLedger | null;
  readonly #steps = new Map<Step, Asked>();
  /** The step that may look up what another one finds, and that other one; null without both. */
  readonly #following: { readonly step: Step; readonly of: Step } | null;

  readonly #conditions: StepConditions;
  /** Steps whose results conditions read. */
  readonly #stepsRead: ReadonlySet<string>;

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
    this.#stepsRead = stepsRead(job.conditions);
    this.#keysOf = keysOf;
    this.#seen = seen;
    this.#ledger = ledger;
    const [following = null] = job.steps.flatMap((step) => {
      const of = job.steps.find((one) => one === specOf(step).follows?.step);
      return of === undefined ? [] : [{ step, of }];
    });
    this.#following = following;
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
        scopes: rule.from.flatMap((name) => scopes.get(name) ?? []),
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
    const known = (lookups: readonly (LedgerLookup | null)[] | null): readonly LedgerLookup[] =>
      (lookups ?? []).filter((one) => one !== null);
    await ask(all.flatMap((keys) => this.#job.steps.flatMap((step) => known(this.#lookups(step, { keys, person: null })))));
    const following = this.#following;
    if (following === null) return;
    const found: LedgerLookup[] = [];
    for (const keys of all) {
      if (keys.lookups[following.step] !== undefined) continue;
      for (const person of await this.#knownPeople(following.of, keys))
        found.push(...known(this.#lookups(following.step, { keys, person })));
    }
    await ask(found);
  }

  async add(record: InputRecord): Promise<void> {
    this.records++;
    if (record.surplus) {
      this.surplus++;
      this.firstSurplus ??= { file: record.file, line: record.line };
    }
    const keys = this.#keysIn(record);
    if (keys === 'skipped') this.skipped++;
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
    const results = new Map<string, Readonly<Record<string, unknown>> | null | undefined>();
    const following = this.#following;
    const hasOwnKey = following !== null && keys.lookups[following.step] !== undefined;
    const needsPerson = following !== null && (!hasOwnKey || this.#job.options[following.step].when === 'unverified');
    let before = NOTHING;
    for (const step of this.#job.steps) {
      // An unknown condition counts as true.
      if (this.#conditions[step]?.({ record, recordOf: (name) => (results.has(name) ? results.get(name) : null) }) === false) continue;
      const lookups = this.#lookups(step, { keys, person: knownPerson(before) });
      if (lookups === null) {
        // A lookup without an answer counts as if it may find an address, which no other record has.
        if (step === following?.step && before.unknown !== 0 && before.isNew && !hasOwnKey) this.#countFound(step, before.unknown);
        continue;
      }
      const walked = await this.#walk(step, lookups, (step === following?.of && needsPerson) || this.#stepsRead.has(step));
      results.set(step, walked.unknown === 0 ? (walked.found?.record ?? null) : undefined);
      if (walked.ends) return;
      if (step === following?.of) before = walked;
    }
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

  #countFound(step: Step, found: Places): void {
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
      const { answer, record } = await this.#read(asked, place, known.answer, needsRecord);
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
  async #read({ step, rule, providers }: Asked, place: number, answer: LedgerAnswer | null, needsRecord: boolean): Promise<KeptAnswer> {
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
    return known?.kind === 'asking' ? { answer: null, isPromised: hasTicket(known.text) } : { answer: known, isPromised: false };
  }

  /** The records that the ledger has of a person, by any provider. */
  async #knownPeople(step: Step, keys: RecordKeys): Promise<Readonly<Record<string, unknown>>[]> {
    const asked = this.#steps.get(step);
    if (asked === undefined) return [];
    const people: Readonly<Record<string, unknown>>[] = [];
    for (const [place, lookup] of (this.#lookups(step, { keys, person: null }) ?? []).entries()) {
      const { record: person } = lookup === null ? NO_ANSWER : await this.#read(asked, place, this.#look(lookup).answer, true);
      if (person !== null) people.push(person);
    }
    return people;
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

/** The person as far as known: a provider without a known answer may still say that the address is not verified. */
function knownPerson({ found, unknown }: Walked): RecordSoFar['person'] {
  const person = found?.record ?? null;
  return person === null || unknown === 0 ? person : { ...person, verified: false };
}

/** As `LookupWaterfall` takes a match. */
function take(found: SourcedRecord | null, record: Readonly<Record<string, unknown>>, { rule }: Asked, place: number): SourcedRecord {
  const provider = rule.from[place] ?? '';
  if (found === null) return ofOne(record, provider);
  if (rule.fields === 'merge') return fill(found, record, provider);
  return hasAll(record, rule.until) ? ofOne(record, provider) : found;
}
