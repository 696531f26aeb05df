import type { EnrichAnswer } from '../client/data-service-client.ts';
import type { PersonRecord } from '../client/types.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';
import type { Settled } from '../pool/call-pool.ts';
import type { StepContext } from './context.ts';
import type { EnrichLookup } from './keys.ts';
import type { Answered } from './result.ts';

export type EnrichOutcome =
  | { readonly kind: 'hit'; readonly answer: Answered<PersonRecord> }
  | { readonly kind: 'miss' | 'suppressed' }
  | { readonly kind: 'failed'; readonly code: string; readonly attempts: number; readonly requestId: string | null };

type Done = (outcome: EnrichOutcome) => void;

/**
 * The enrich step. One lookup is asked once: records with the same key share the call in flight, later ones find the
 * answer in the ledger.
 */
export class EnrichStep {
  readonly #context: StepContext;
  readonly #scopes: { readonly email: number; readonly domain: number };
  readonly #inFlight = new Map<string, Done[]>();
  #calls = 0;

  constructor(context: StepContext, scopes: { email: number; domain: number }) {
    this.#context = context;
    this.#scopes = scopes;
  }

  /** Calls on their way or waiting for their turn, and lookups that other runs are asked about. */
  get callsPending(): number {
    return this.#calls;
  }

  ask(lookup: EnrichLookup, done: Done): void {
    const scope = this.#scopes[lookup.by];
    // The two scopes share no key: an address has an @ and a domain has none.
    const waiting = this.#inFlight.get(lookup.key);
    if (waiting !== undefined) {
      waiting.push(done);
      return;
    }
    const known = this.#context.ledger.get(scope, lookup.key);
    if (known !== null) {
      done(fromLedger(known));
      return;
    }
    this.#inFlight.set(lookup.key, [done]);
    this.#calls++;
    this.#context.ledger.ask(scope, lookup.key, (told) => {
      if (told === null) {
        this.#send(scope, lookup);
        return;
      }
      this.#calls--;
      this.#tell(lookup.key, fromLedger(told));
      this.#context.onProgress();
    });
  }

  #send(scope: number, lookup: EnrichLookup): void {
    const { client } = this.#context;
    const body = client.enrichBody(lookup.by === 'email' ? { email: lookup.key } : { domain: lookup.key });
    const options = { idempotencyKey: this.#context.idempotencyKey(body) };
    this.#context.pool.submit<EnrichAnswer>({
      step: 'enrich',
      send: () => client.callEnrich(body, options),
      settle: (settled) => {
        this.#calls--;
        this.#settle(scope, lookup.key, settled);
        this.#context.onProgress();
      },
    });
  }

  #settle(scope: number, key: string, settled: Settled<EnrichAnswer>): void {
    const { gate } = this.#context;
    switch (settled.kind) {
      case 'ok': {
        gate.vouch();
        const answer = settled.value;
        this.#deliver(scope, key, { kind: 'hit', text: answer.text }, { kind: 'hit', answer });
        return;
      }
      case 'miss':
      case 'suppressed': {
        const { kind } = settled;
        const deliver = (): void => this.#deliver(scope, key, { kind }, { kind });
        if (settled.status >= 400) gate.judge(`${settled.status} ${kind}`, deliver);
        else {
          gate.vouch();
          deliver();
        }
        return;
      }
      case 'failed': {
        const { code, attempts, requestId } = settled;
        const failed = { kind: 'failed', code, attempts, requestId } as const;
        const deliver = (): void => this.#deliver(scope, key, failed, failed);
        if (settled.rejected) gate.judge(`${settled.status} ${code}`, deliver);
        else deliver();
        return;
      }
      default:
        settled satisfies never;
    }
  }

  #deliver(scope: number, key: string, answer: LedgerAnswer, outcome: EnrichOutcome): void {
    this.#context.ledger.put([{ scope, key, answer }]);
    this.#tell(key, outcome);
  }

  /** All records of one key. */
  #tell(key: string, outcome: EnrichOutcome): void {
    const waiting = this.#inFlight.get(key) ?? [];
    this.#inFlight.delete(key);
    for (const done of waiting) done(outcome);
    // A map that is rebuilt leaves its old table behind, and with it, until the next full collection, the records that are waited for here.
    waiting.length = 0;
  }
}

function fromLedger(known: LedgerAnswer): EnrichOutcome {
  switch (known.kind) {
    case 'hit':
    case 'unsettled':
      return { kind: 'hit', answer: { record: JSON.parse(known.text) as PersonRecord, text: known.text } };
    case 'miss':
    case 'suppressed':
      return known;
    case 'failed':
      return known;
    default:
      return known satisfies never;
  }
}
