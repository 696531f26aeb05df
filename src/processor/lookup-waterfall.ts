/** A lookup step over several providers: the next one is asked when this one misses, or leaves a wanted field empty. */
import { assert } from '../util/assert.ts';
import type { RecordOrigin } from '../formats/input-record.ts';
import type { Waterfall } from '../definition/waterfall.ts';
import type { Contribution } from './contribution.ts';
import type { LookupOutcome, StepAnswer } from '../lookup/lookup-outcome.ts';
import type { Lookup, Lookups } from './lookup-keys.ts';
import { fill, hasAll, ofOne, type SourcedRecord } from './merge-records.ts';
import type { Step } from '../steps/registry.ts';

/**
 * The outcome of a step for a record. @param key of a match: the one by which the first provider found it
 * @param contributions absent where the job names no providers
 */
export type LookupDone<R> = (outcome: LookupOutcome<R>, key: string, contributions?: readonly Contribution[]) => void;

/** A step as a record meets it: one provider or several. */
export interface LookupAsker<R> {
  /**
   * @param lookups one for each provider, see `RecordKeys`. At least one is not null
   * @param retained characters of answers that stay in memory until the row is written; negative when they are given back
   */
  ask(lookups: Lookups, done: LookupDone<R>, origin: RecordOrigin | null, retained?: (chars: number) => void): void;
}

/** The part of `LookupStep` that a waterfall calls. */
interface OneProvider<R> {
  ask(lookup: Lookup, done: (outcome: LookupOutcome<R>) => void, origin: RecordOrigin | null): void;
}

/** A contribution whose fields are counted at the end of the step. */
type Draft = { -readonly [K in keyof Contribution]: Contribution[K] };

/** A record on its way through the providers of one step. */
interface Progress<R> {
  readonly lookups: Lookups;
  readonly done: LookupDone<R>;
  readonly origin: RecordOrigin | null;
  readonly retained: (chars: number) => void;
  readonly contributions: Draft[];
  /** The record so far; null before a match. */
  found: SourcedRecord | null;
  /** The JSON of `found`, where it is the whole record of one provider. */
  text: string | null;
  failure: { readonly outcome: LookupOutcome<R>; readonly key: string } | null;
  /** The key that was asked last. */
  key: string;
  /** The key by which the record was found first. */
  foundBy: string;
  /** Characters of the answers that `found` is made of. */
  chars: number;
}

export class LookupWaterfall<R> implements LookupAsker<R> {
  readonly #step: Step;
  readonly #rule: Waterfall;
  readonly #providers: readonly OneProvider<R>[];
  readonly #namesProviders: boolean;

  /** @param providers in the order of `rule.from`. @param namesProviders whether records and rows say whom they are from */
  constructor(step: Step, rule: Waterfall, providers: readonly OneProvider<R>[], namesProviders: boolean) {
    this.#step = step;
    this.#rule = rule;
    this.#providers = providers;
    this.#namesProviders = namesProviders;
  }

  ask(lookups: Lookups, done: LookupDone<R>, origin: RecordOrigin | null, retained: (chars: number) => void = () => undefined): void {
    if (!this.#namesProviders) {
      this.#askFirst(lookups, done, origin, retained);
      return;
    }
    const nothingYet = { contributions: [], found: null, text: null, failure: null, key: '', foundBy: '', chars: 0 };
    this.#next({ lookups, done, origin, retained, ...nothingYet }, 0);
  }

  /** Without names there is one provider, whose record stays as it is. */
  #askFirst([lookup = null]: Lookups, done: LookupDone<R>, origin: RecordOrigin | null, retained: (chars: number) => void): void {
    const [provider] = this.#providers;
    assert(lookup !== null && provider !== undefined, 'a record that is looked up has a key');
    const answered = (outcome: LookupOutcome<R>): void => {
      if (outcome.kind === 'hit') retained(outcome.answer.text.length);
      done(outcome, lookup.key);
    };
    provider.ask(lookup, answered, origin);
  }

  #next(progress: Progress<R>, from: number): void {
    for (let index = from; index < this.#providers.length; index++) {
      const lookup = progress.lookups[index] ?? null;
      const provider = this.#providers[index];
      if (lookup === null || provider === undefined) continue;
      progress.key = lookup.key;
      provider.ask(lookup, (outcome) => this.#answered(progress, index, lookup.key, outcome), progress.origin);
      return;
    }
    this.#end(progress);
  }

  #answered(progress: Progress<R>, index: number, key: string, outcome: LookupOutcome<R>): void {
    const provider = this.#rule.from[index] ?? '';
    const isFirst = progress.found === null;
    const note = (kind: Contribution['kind'], code?: string): void =>
      void progress.contributions.push({ step: this.#step, provider, kind, fields: 0, isFirst, ...(code === undefined ? {} : { code }) });
    switch (outcome.kind) {
      case 'hit':
        note('matched');
        if (isFirst) progress.foundBy = key;
        this.#take(progress, outcome.answer, provider);
        progress.chars += outcome.answer.text.length;
        progress.retained(outcome.answer.text.length);
        if (hasAll(progress.found?.record ?? {}, this.#rule.until)) this.#end(progress);
        else this.#next(progress, index + 1);
        return;
      case 'miss':
        note('missed');
        this.#next(progress, index + 1);
        return;
      case 'suppressed':
        note('suppressed');
        progress.retained(-progress.chars);
        progress.done(outcome, key, progress.contributions);
        return;
      case 'failed':
        note(outcome.unavailable === true ? 'unavailable' : 'failed', outcome.code);
        progress.failure ??= { outcome, key };
        this.#next(progress, index + 1);
        return;
      default:
        outcome satisfies never;
    }
  }

  #take(progress: Progress<R>, answer: StepAnswer<R>, provider: string): void {
    const { found } = progress;
    const record = answer.record as Readonly<Record<string, unknown>>;
    if (found !== null && this.#rule.fields === 'merge') {
      progress.found = fill(found, record, provider);
      progress.text = null;
    } else if (found === null || hasAll(record, this.#rule.until)) {
      progress.found = ofOne(record, provider);
      progress.text = answer.text;
    }
  }

  #end({ found, text, failure, done, key, foundBy, contributions }: Progress<R>): void {
    if (found === null) {
      done(failure?.outcome ?? { kind: 'miss' }, failure?.key ?? key, contributions);
      return;
    }
    const names = Object.values(found.sources);
    for (const one of contributions) {
      if (one.kind === 'matched') one.fields = countOf(names, one.provider);
    }
    done({ kind: 'hit', answer: new SourcedAnswer<R>(found, text) }, foundBy, contributions);
  }
}

/** A record with its sources in the field `source`. Its text is made when it is asked for: CSV rows do not use it. */
class SourcedAnswer<R> implements StepAnswer<R> {
  readonly record: R;
  readonly #found: SourcedRecord;
  readonly #text: string | null;

  /** @param text the JSON of the record where it is the whole record of one provider */
  constructor(found: SourcedRecord, text: string | null) {
    this.record = { ...found.record, source: found.sources } as R;
    this.#found = found;
    this.#text = text;
  }

  get text(): string {
    const { record, sources } = this.#found;
    const end = this.#text?.lastIndexOf('}') ?? -1;
    if (this.#text === null || end < 1 || Object.hasOwn(record, 'source') || /^\{\s*\}$/.test(this.#text))
      return JSON.stringify(this.record);
    return `${this.#text.slice(0, end)},"source":${JSON.stringify(sources)}}`;
  }
}

function countOf(names: readonly string[], name: string): number {
  let count = 0;
  for (const one of names) if (one === name) count++;
  return count;
}
