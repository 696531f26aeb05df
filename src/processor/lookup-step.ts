import type { RecordAnswer } from '../client/attempt-client.ts';
import type { CallResult } from '../client/types.ts';
import type { Step } from '../definition/compiled-job.ts';
import type { RecordOrigin } from '../formats/input-record.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { StepContext } from './step-context.ts';
import type { StepAnswer } from './result.ts';
import type { QuarantinedAnswer } from './miss-quarantine.ts';

export type LookupOutcome<R> =
  | { readonly kind: 'hit'; readonly answer: StepAnswer<R> }
  | { readonly kind: 'miss' | 'suppressed' }
  | { readonly kind: 'failed'; readonly code: string; readonly attempts: number; readonly requestId: string | null };

type Done<R> = (outcome: LookupOutcome<R>) => void;

/** A lookup. Two lookups of one step with the same key are the same. */
export interface StepLookup {
  readonly key: string;
}

/**
 * A step that looks up one record at a time: enrich, company, reveal. Records with the same key share the call in flight. Later ones find
 * the answer in the ledger.
 */
export abstract class LookupStep<L extends StepLookup, R> {
  protected abstract readonly step: Step;
  protected readonly context: StepContext;
  readonly #inFlight = new Map<string, Done<R>[]>();
  #calls = 0;

  constructor(context: StepContext) {
    this.context = context;
  }

  /** The ledger scope of this lookup. */
  protected abstract scopeOf(lookup: L): number;

  /** The call of this lookup: the same request each time. @param seed see `StepContext.idempotencyKey` */
  protected abstract callFor(lookup: L, seed: string | null): () => Promise<CallResult<RecordAnswer<R>>>;

  /** Calls that are in flight or waiting, and lookups that wait for other runs. */
  get callsPending(): number {
    return this.#calls;
  }

  /** @param origin the record that asks; null for a key of the command line */
  ask(lookup: L, done: Done<R>, origin: RecordOrigin | null = null): void {
    const scope = this.scopeOf(lookup);
    const waiting = this.#inFlight.get(lookup.key);
    if (waiting !== undefined) {
      waiting.push(done);
      return;
    }
    const known = this.context.ledger.get(scope, lookup.key);
    if (known !== null) {
      if (known.kind === 'hit') this.context.quarantine.confirmByLedger();
      done(fromLedger(known));
      return;
    }
    this.#inFlight.set(lookup.key, [done]);
    const doubtful = this.context.quarantine.takeRestored(this.step, lookup.key);
    if (doubtful !== null) {
      this.#quarantine(scope, doubtful);
      return;
    }
    this.#calls++;
    this.context.ledger.ask(scope, lookup.key, (told, seed = null) => {
      if (told === null) {
        this.#send(scope, lookup, origin, seed);
        return;
      }
      this.#calls--;
      this.#settleWaiting(lookup.key, fromLedger(told));
      this.context.onSettled();
    });
  }

  #send(scope: number, lookup: L, origin: RecordOrigin | null, seed: string | null): void {
    this.context.pool.submit<RecordAnswer<R>>({
      step: this.step,
      origin,
      send: this.callFor(lookup, seed),
      settle: (settled) => {
        this.#calls--;
        this.#settle(scope, lookup.key, settled);
        this.context.onSettled();
      },
    });
  }

  #settle(scope: number, key: string, settled: SettledCall<RecordAnswer<R>>): void {
    const { quarantine: gate } = this.context;
    switch (settled.kind) {
      case 'ok': {
        gate.confirm();
        const answer = settled.value;
        this.#deliver(scope, key, { kind: 'hit', text: answer.text }, { kind: 'hit', answer });
        return;
      }
      case 'miss':
      case 'suppressed': {
        const { kind, status } = settled;
        if (status >= 400) this.#quarantine(scope, { step: this.step, key, said: `${status} ${kind}`, refused: false, answer: { kind } });
        else {
          gate.confirm();
          this.#deliver(scope, key, { kind }, { kind });
        }
        return;
      }
      case 'failed': {
        const { code, attempts, requestId } = settled;
        const failed = { kind: 'failed', code, attempts, requestId } as const;
        if (settled.rejected)
          this.#quarantine(scope, { step: this.step, key, said: `${settled.status} ${code}`, refused: true, answer: failed });
        else this.#deliver(scope, key, failed, failed);
        return;
      }
      default:
        settled satisfies never;
    }
  }

  #quarantine(scope: number, doubtful: QuarantinedAnswer): void {
    const { key, answer } = doubtful;
    this.context.quarantine.quarantine(doubtful, () => this.#deliver(scope, key, answer, answer));
  }

  #deliver(scope: number, key: string, answer: LedgerAnswer, outcome: LookupOutcome<R>): void {
    this.context.ledger.put([{ scope, key, answer }]);
    this.#settleWaiting(key, outcome);
  }

  /** Calls back every record with the key. */
  #settleWaiting(key: string, outcome: LookupOutcome<R>): void {
    const waiting = this.#inFlight.get(key) ?? [];
    this.#inFlight.delete(key);
    for (const done of waiting) done(outcome);
    // A rebuilt map keeps its old table, and the waiting records in it, until the next full collection.
    waiting.length = 0;
  }
}

function fromLedger<R>(known: LedgerAnswer): LookupOutcome<R> {
  switch (known.kind) {
    case 'hit':
    case 'unsettled':
      return { kind: 'hit', answer: { record: JSON.parse(known.text) as R, text: known.text } };
    case 'miss':
    case 'suppressed':
      return known;
    case 'failed':
      return known;
    case 'asking':
      throw new Error('no answer yet');
    default:
      return known satisfies never;
  }
}
