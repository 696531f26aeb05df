import type { VerifyAnswer } from '../client/data-service-client.ts';
import type { VerificationResult } from '../client/types.ts';
import type { LedgerAnswer, LedgerEntry } from '../ledger/ledger.ts';
import type { Settled } from '../pool/call-pool.ts';
import type { StepContext } from './context.ts';
import type { Answered } from './result.ts';

export type VerifyOutcome =
  | { readonly kind: 'verdict'; readonly answer: Answered<VerificationResult> }
  /** 451 for this address alone: the person asked to be removed. */
  | { readonly kind: 'suppressed' }
  | { readonly kind: 'failed'; readonly code: string; readonly attempts: number; readonly requestId: string | null };

type Done = (outcome: VerifyOutcome) => void;

/** The specification's limit for one request. */
export const VERIFY_BATCH = 1_000;
/** What an answer leaves out, some of its addresses or all, is asked for this often in all: once more. */
const ASK_FOR_MISSING = 2;

/**
 * The verify step: fills requests of 1,000 across records. Addresses are offered in input order, so that a job that was
 * killed fills the same requests again and a service that honours Idempotency-Key charges them once.
 */
export class VerifyStep {
  readonly #context: StepContext;
  readonly #scope: number;
  readonly #batch: number;
  readonly #inFlight = new Map<string, Done[]>();
  #filling: string[] = [];
  #sent = 0;
  /** Addresses that other runs are asked about. */
  #asking = 0;

  /** @param batch addresses in a full request */
  constructor(context: StepContext, scope: number, batch = VERIFY_BATCH) {
    this.#context = context;
    this.#scope = scope;
    this.#batch = batch;
  }

  /** Calls on their way or waiting for their turn, and addresses that other runs are asked about. */
  get callsPending(): number {
    return this.#sent + this.#asking;
  }

  /** Addresses waiting for a request to fill up. */
  get addressesWaiting(): number {
    return this.#filling.length;
  }

  ask(email: string, done: Done): void {
    const waiting = this.#inFlight.get(email);
    if (waiting !== undefined) {
      waiting.push(done);
      return;
    }
    const known = this.#context.ledger.get(this.#scope, email);
    if (known !== null) {
      done(fromLedger(known));
      return;
    }
    this.#inFlight.set(email, [done]);
    this.#asking++;
    this.#context.ledger.ask(this.#scope, email, (told) => {
      this.#asking--;
      if (told === null) {
        this.#filling.push(email);
        if (this.#filling.length >= this.#batch) this.flush();
        return;
      }
      this.#deliver(email, fromLedger(told));
      this.#context.onProgress();
    });
  }

  /** Sends what has been gathered, full or not. */
  flush(): void {
    if (this.#filling.length === 0) return;
    const emails = this.#filling;
    this.#filling = [];
    this.#send(emails, 1);
  }

  #send(emails: readonly string[], asked: number): void {
    const { client, pool } = this.#context;
    const body = client.verifyBody(emails);
    const options = { idempotencyKey: this.#context.idempotencyKey(body) };
    this.#sent++;
    pool.submit<VerifyAnswer>({
      step: 'verify',
      send: () => client.callVerify(body, options),
      settle: (settled) => {
        this.#sent--;
        this.#settle(emails, asked, settled);
        this.#context.onProgress();
      },
    });
  }

  #settle(emails: readonly string[], asked: number, settled: Settled<VerifyAnswer>): void {
    if (settled.kind === 'ok') {
      this.#context.gate.vouch();
      this.#answered(emails, asked, settled);
      return;
    }
    const refused = settled.kind !== 'failed' || settled.rejected;
    const said = `${settled.status} ${settled.kind === 'failed' ? settled.code : settled.kind}`;
    if (emails.length > 1) {
      // One of them offends, or breaks the service each time: halve until it stands alone, so that its neighbours are not lost with it.
      if (refused) this.#context.gate.judge(said, null);
      const half = Math.ceil(emails.length / 2);
      this.#send(emails.slice(0, half), 1);
      this.#send(emails.slice(half), 1);
      return;
    }
    const deliver = (): void => {
      if (settled.kind === 'suppressed') this.#end(emails, { kind: 'suppressed' });
      else this.#fail(emails, { code: settled.kind, ...settled });
    };
    if (refused) this.#context.gate.judge(said, deliver);
    else deliver();
  }

  #answered(emails: readonly string[], asked: number, settled: Settled<VerifyAnswer> & { kind: 'ok' }): void {
    const entries: LedgerEntry[] = [];
    const outcomes: [string, VerifyOutcome][] = [];
    const missing: string[] = [];
    for (const email of emails) {
      const record = settled.value.byEmail.get(email);
      if (record === undefined) {
        missing.push(email);
        continue;
      }
      const text = JSON.stringify(record);
      entries.push({ scope: this.#scope, key: email, answer: { kind: record.result === 'unknown' ? 'unsettled' : 'hit', text } });
      outcomes.push([email, { kind: 'verdict', answer: { record, text } }]);
    }
    this.#context.ledger.put(entries);
    for (const [email, outcome] of outcomes) this.#deliver(email, outcome);
    if (missing.length === 0) return;
    if (asked < ASK_FOR_MISSING) this.#send(missing, asked + 1);
    else this.#fail(missing, { code: 'no_result', attempts: asked, requestId: settled.requestId });
  }

  #fail(emails: readonly string[], { code, attempts, requestId }: { code: string; attempts: number; requestId: string | null }): void {
    this.#end(emails, { kind: 'failed', code, attempts, requestId });
  }

  /** The same end for all of them. */
  #end(emails: readonly string[], outcome: Exclude<VerifyOutcome, { kind: 'verdict' }>): void {
    this.#context.ledger.put(emails.map((key) => ({ scope: this.#scope, key, answer: outcome })));
    for (const email of emails) this.#deliver(email, outcome);
  }

  #deliver(email: string, outcome: VerifyOutcome): void {
    const waiting = this.#inFlight.get(email) ?? [];
    this.#inFlight.delete(email);
    for (const done of waiting) done(outcome);
    // A map that is rebuilt leaves its old table behind, and with it, until the next full collection, the records that are waited for here.
    waiting.length = 0;
  }
}

function fromLedger(known: LedgerAnswer): VerifyOutcome {
  switch (known.kind) {
    case 'hit':
    case 'unsettled':
      return { kind: 'verdict', answer: { record: JSON.parse(known.text) as VerificationResult, text: known.text } };
    case 'failed':
    case 'suppressed':
      return known;
    case 'miss':
      return { kind: 'failed', code: known.kind, attempts: 0, requestId: null };
    default:
      return known satisfies never;
  }
}
