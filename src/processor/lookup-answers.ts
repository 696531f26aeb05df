import type { RecordAnswer } from '../client/attempt-client.ts';
import type { LookupStepName } from '../client/provider-client.ts';
import type { LedgerAnswer, LedgerEntry } from '../ledger/ledger.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { LookupInFlight } from './lookup-in-flight.ts';
import { fromLedger, unavailable, type FailedLookup, type LookupOutcome } from './lookup-outcome.ts';
import type { QuarantinedAnswer } from './miss-quarantine.ts';
import type { StepContext } from './step-context.ts';

interface Delivery<L, R> {
  readonly one: LookupInFlight<L, R>;
  readonly answer: LedgerAnswer;
  readonly outcome: LookupOutcome<R>;
}

/** The lookups of a step that have no answer yet. An answer goes into the ledger, and then to the records that wait for it. */
export class LookupAnswers<L extends { readonly key: string }, R> {
  readonly #context: StepContext;
  readonly #step: LookupStepName;
  readonly #inFlight = new Map<string, LookupInFlight<L, R>>();
  /** Keys whose answers are in quarantine, and keys whose kept answers are being read. */
  readonly #held = new Set<string>();
  readonly #reading = new Set<string>();
  /** Answers of one request, which go into the ledger together; null outside of such a request. */
  #together: Delivery<L, R>[] | null = null;
  #isStopped = false;

  constructor(context: StepContext, step: LookupStepName) {
    this.#context = context;
    this.#step = step;
  }

  /** Kept answers that are being read. */
  get reading(): number {
    return this.#reading.size;
  }

  find(key: string): LookupInFlight<L, R> | undefined {
    return this.#inFlight.get(key);
  }

  add(one: LookupInFlight<L, R>): void {
    this.#inFlight.set(one.lookup.key, one);
  }

  /**
   * A call for this lookup alone has ended, or its item of a request for several was answered.
   * @param note see `FailedLookup.note`
   */
  settle(one: LookupInFlight<L, R>, settled: SettledCall<RecordAnswer<R>>, note?: string): void {
    const { quarantine: gate } = this.#context;
    const { key } = one.lookup;
    const step = this.#step;
    switch (settled.kind) {
      case 'ok': {
        gate.confirm();
        const { value } = settled;
        const { record, text, stored } = value;
        if (stored === undefined) this.#deliver(one, { kind: 'hit', text }, { kind: 'hit', answer: value });
        else this.#deliver(one, { kind: 'hit', text: stored }, { kind: 'hit', answer: { record, text } });
        return;
      }
      case 'miss':
      case 'suppressed': {
        const { kind, status } = settled;
        if (status >= 400) this.quarantine(one, { step, key, said: `${status} ${kind}`, refused: false, answer: { kind } });
        else {
          gate.confirm();
          this.#deliver(one, { kind }, { kind });
        }
        return;
      }
      case 'failed': {
        const { code, attempts, requestId } = settled;
        const failed = { kind: 'failed', code, attempts, requestId } as const;
        if (settled.stored !== undefined) {
          gate.confirm();
          this.#deliver(one, { kind: 'hit', text: settled.stored }, failed);
          return;
        }
        if (settled.rejected) this.quarantine(one, { step, key, said: `${settled.status} ${code}`, refused: true, answer: failed });
        else this.#deliver(one, note === undefined ? failed : { ...failed, note }, failed);
        return;
      }
      default:
        settled satisfies never;
    }
  }

  quarantine(one: LookupInFlight<L, R>, doubtful: QuarantinedAnswer): void {
    const { key, answer } = doubtful;
    this.#held.add(key);
    this.#context.quarantine.quarantine(doubtful, () => {
      this.#held.delete(key);
      this.#deliver(one, answer, answer);
    });
  }

  /** Settles the lookups of one request: their answers become durable together, and with them the notes about those left open. */
  together(settleAll: () => void, notes: (hasAnswers: boolean) => readonly LedgerEntry[]): void {
    const all: Delivery<L, R>[] = [];
    this.#together = all;
    settleAll();
    this.#together = null;
    const entries = [...all.map(entryOf), ...notes(all.length > 0)];
    if (entries.length > 0) this.#context.ledger.put(entries);
    for (const { one, outcome } of all) this.tell(one, outcome);
  }

  /** Gives a kept answer to the records that wait for it. A provider may have to read it first. */
  tellKept(one: LookupInFlight<L, R>, known: LedgerAnswer): void {
    if (known.kind === 'hit' && this.#context.client.readStored !== undefined) void this.#read(one, known.text);
    else this.tell(one, fromLedger(known));
  }

  /** Calls back every record that waits for this lookup. Does nothing the second time. */
  tell(one: LookupInFlight<L, R>, outcome: LookupOutcome<R>): void {
    if (this.#inFlight.get(one.lookup.key) === one) this.#inFlight.delete(one.lookup.key);
    one.settle(outcome);
  }

  /** Settles every lookup without an answer. A rejected service's answers count as none. */
  giveUp(code: string): void {
    const { quarantine, ledger } = this.#context;
    const open = [...this.#inFlight.values()].filter(
      ({ lookup: { key } }) => !this.#reading.has(key) && (quarantine.isServiceRejected || !this.#held.has(key)),
    );
    for (const [scope, ones] of Map.groupBy(open, (one) => one.scope))
      ledger.release(
        scope,
        ones.map(({ lookup }) => lookup.key),
      );
    for (const one of open) this.tell(one, unavailable(code));
  }

  /** Answers that are still being read are left to the next run. */
  stop(): void {
    this.#isStopped = true;
  }

  /** A mapping that fails may be corrected before the next run, so the ledger keeps the answer and not the failure. */
  async #read(one: LookupInFlight<L, R>, kept: string): Promise<void> {
    const { client, onSettled, onFatal } = this.#context;
    const { key } = one.lookup;
    this.#reading.add(key);
    const failed: FailedLookup = { kind: 'failed', code: 'bad_mapping', attempts: 0, requestId: null };
    let outcome: LookupOutcome<R> = failed;
    try {
      const answer = await client.readStored?.(this.#step, kept);
      if (answer === null) outcome = { kind: 'miss' };
      else if (answer !== undefined) outcome = { kind: 'hit', answer: { record: answer.record as R, text: answer.text } };
    } catch (error) {
      // The same code as in the run that got the answer.
      if (error instanceof Error && 'code' in error && typeof error.code === 'string') outcome = { ...failed, code: error.code };
    }
    try {
      this.#reading.delete(key);
      if (this.#isStopped) return;
      this.tell(one, outcome);
      onSettled();
    } catch (error) {
      onFatal(error);
    }
  }

  #deliver(one: LookupInFlight<L, R>, answer: LedgerAnswer, outcome: LookupOutcome<R>): void {
    const delivery = { one, answer, outcome };
    if (this.#together !== null) {
      this.#together.push(delivery);
      return;
    }
    this.#context.ledger.put([entryOf(delivery)]);
    this.tell(one, outcome);
  }
}

function entryOf<L extends { readonly key: string }, R>({ one, answer }: Delivery<L, R>): LedgerEntry {
  const { scope, lookup, isKept } = one;
  return { scope, key: lookup.key, answer, ...(isKept ? { again: true } : {}) };
}
