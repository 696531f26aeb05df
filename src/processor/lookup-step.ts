import type { RecordAnswer } from '../client/data-service-client.ts';
import type { CallResult } from '../client/types.ts';
import type { Step } from '../job/types.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';
import type { Settled } from '../pool/call-pool.ts';
import type { StepContext } from './context.ts';
import type { Answered } from './result.ts';
import type { Doubtful } from './trust-gate.ts';

export type LookupOutcome<R> =
  | { readonly kind: 'hit'; readonly answer: Answered<R> }
  | { readonly kind: 'miss' | 'suppressed' }
  | { readonly kind: 'failed'; readonly code: string; readonly attempts: number; readonly requestId: string | null };

type Done<R> = (outcome: LookupOutcome<R>) => void;

/** What is asked for. Two lookups of one step with the same key are the same. */
export interface Lookup { readonly key: string }

/**
 * A step that asks for one record at a time: enrich, company, reveal. One lookup is asked once: records with the same
 * key share the call in flight, later ones find the answer in the ledger.
 */
export abstract class LookupStep<L extends Lookup, R> {
  protected abstract readonly step: Step;
  protected readonly context: StepContext;
  readonly #inFlight = new Map<string, Done<R>[]>();
  #calls = 0;

  constructor(context: StepContext) {
    this.context = context;
  }

  /** The scope of the ledger under which this lookup is kept. */
  protected abstract scopeOf(lookup: L): number;

  /** The call that asks for it: the same request each time it is sent. @param seed see `StepContext.idempotencyKey` */
  protected abstract callFor(lookup: L, seed: string | null): () => Promise<CallResult<RecordAnswer<R>>>;

  /** Calls on their way or waiting for their turn, and lookups that other runs are asked about. */
  get callsPending(): number {
    return this.#calls;
  }

  ask(lookup: L, done: Done<R>): void {
    const scope = this.scopeOf(lookup);
    const waiting = this.#inFlight.get(lookup.key);
    if (waiting !== undefined) {
      waiting.push(done);
      return;
    }
    const known = this.context.ledger.get(scope, lookup.key);
    if (known !== null) {
      if (known.kind === 'hit') this.context.gate.recognise();
      done(fromLedger(known));
      return;
    }
    this.#inFlight.set(lookup.key, [done]);
    const doubtful = this.context.gate.recall(this.step, lookup.key);
    if (doubtful !== null) {
      this.#judge(scope, doubtful);
      return;
    }
    this.#calls++;
    this.context.ledger.ask(scope, lookup.key, (told, seed = null) => {
      if (told === null) {
        this.#send(scope, lookup, seed);
        return;
      }
      this.#calls--;
      this.#tell(lookup.key, fromLedger(told));
      this.context.onProgress();
    });
  }

  #send(scope: number, lookup: L, seed: string | null): void {
    this.context.pool.submit<RecordAnswer<R>>({
      step: this.step,
      send: this.callFor(lookup, seed),
      settle: (settled) => {
        this.#calls--;
        this.#settle(scope, lookup.key, settled);
        this.context.onProgress();
      },
    });
  }

  #settle(scope: number, key: string, settled: Settled<RecordAnswer<R>>): void {
    const { gate } = this.context;
    switch (settled.kind) {
      case 'ok': {
        gate.vouch();
        const answer = settled.value;
        this.#deliver(scope, key, { kind: 'hit', text: answer.text }, { kind: 'hit', answer });
        return;
      }
      case 'miss':
      case 'suppressed': {
        const { kind, status } = settled;
        if (status >= 400) this.#judge(scope, { step: this.step, key, said: `${status} ${kind}`, refused: false, answer: { kind } });
        else {
          gate.vouch();
          this.#deliver(scope, key, { kind }, { kind });
        }
        return;
      }
      case 'failed': {
        const { code, attempts, requestId } = settled;
        const failed = { kind: 'failed', code, attempts, requestId } as const;
        if (settled.rejected) this.#judge(scope, { step: this.step, key, said: `${settled.status} ${code}`, refused: true, answer: failed });
        else this.#deliver(scope, key, failed, failed);
        return;
      }
      default:
        settled satisfies never;
    }
  }

  #judge(scope: number, doubtful: Doubtful): void {
    const { key, answer } = doubtful;
    this.context.gate.doubt(doubtful, () => this.#deliver(scope, key, answer, answer));
  }

  #deliver(scope: number, key: string, answer: LedgerAnswer, outcome: LookupOutcome<R>): void {
    this.context.ledger.put([{ scope, key, answer }]);
    this.#tell(key, outcome);
  }

  /** All records of one key. */
  #tell(key: string, outcome: LookupOutcome<R>): void {
    const waiting = this.#inFlight.get(key) ?? [];
    this.#inFlight.delete(key);
    for (const done of waiting) done(outcome);
    // A map that is rebuilt leaves its old table behind, and with it, until the next full collection, the records that are waited for here.
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
