import { saysSuppressed, type VerifyAnswer } from '../client/verify-answer.ts';
import type { VerificationResult } from '../client/types.ts';
import type { LedgerEntry } from '../ledger/ledger.ts';
import type { Settled } from '../pool/call-pool.ts';
import { partOf, type Group } from './address-queue.ts';
import type { RequestPace, StepContext } from './context.ts';
import { PendingGroups, type Members } from './pending-groups.ts';
import { pendingMs, readGroup, withGroup, type PendingGroup } from './pending.ts';
import { RequestQueue } from './request-queue.ts';
import type { Answered } from './result.ts';
import type { Doubtful } from './trust-gate.ts';
import { answered, fromLedger, withoutVerdict, type VerifyOutcome } from './verify-outcome.ts';
import { submitVerify, type Ended, type VerifyRequest } from './verify-request.ts';

export type { VerifyOutcome } from './verify-outcome.ts';

type Done = (outcome: VerifyOutcome) => void;

/** The specification's limit for one request. */
export const VERIFY_BATCH = 1_000;
export interface VerifyOptions {
  /** How long verdicts that are not final are waited for, from the first answer on, milliseconds; 0: not at all. */
  readonly patienceMs: number;
  /** Addresses in a full request. */
  readonly batch?: number;
  /** Left out: requests are always full, and as many in flight as the pool takes. */
  readonly pace?: RequestPace;
}

/** What an answer leaves out, some of its addresses or all, is asked for this often in all: once more. */
const ASK_FOR_MISSING = 2;
/**
 * The verify step: fills requests of 1,000 across records. Addresses are offered in input order, so that a job that was
 * killed fills the same requests again and a service that honours Idempotency-Key charges them once. With patience, what
 * an answer leaves pending is asked about again, by itself and together, until it is known or patience ends.
 *
 * A request that is too large for the service, such as one that runs into the time limit, is halved at once, and the size that
 * works is kept.
 */
export class VerifyStep {
  readonly #context: StepContext;
  readonly #scope: number;
  readonly #patienceMs: number;
  readonly #pending: PendingGroups;
  readonly #inFlight = new Map<string, Done[]>();
  /** By key, where the two differ. */
  readonly #spelled = new Map<string, string>();
  readonly #queue: RequestQueue;
  readonly #limitMs: number | null;
  #sent = 0;
  /** Addresses that other runs are asked about. */
  #asking = 0;

  constructor(context: StepContext, scope: number, { patienceMs, batch = VERIFY_BATCH, pace }: VerifyOptions) {
    this.#context = context;
    this.#scope = scope;
    this.#patienceMs = patienceMs;
    this.#limitMs = pace?.limitMs ?? null;
    this.#queue = new RequestQueue({ batch, pace: pace ?? null, send: (group) => this.#send(group, 1), onKept: context.onProgress });
    this.#pending = new PendingGroups(patienceMs, (group, members) => this.#askAgain(group, members), context.onPending);
  }

  /** Calls on their way or waiting for their turn, also for a checkpoint, and addresses that other runs are asked about. */
  get callsPending(): number {
    return this.#sent + this.#asking + (this.#queue.isKeeping ? 1 : 0);
  }

  /** Addresses waiting for a request to fill up. */
  get addressesWaiting(): number {
    return this.#queue.size;
  }

  /** Groups that wait for members of a run before. */
  get groupsIncomplete(): number {
    return this.#pending.incomplete;
  }

  /** Addresses whose verdict is asked for again later; null: there are none. */
  get addressesPending(): PendingGroups['waiting'] {
    return this.#pending.waiting;
  }

  /** @param spelled what the service is asked in place of the key; of several who ask for one key that of the first, so that a request is the same when it is sent again */
  ask(email: string, done: Done, spelled = email): void {
    const waiting = this.#inFlight.get(email);
    if (waiting !== undefined) {
      waiting.push(done);
      return;
    }
    const known = this.#context.ledger.get(this.#scope, email);
    const group = known?.kind === 'unsettled' ? readGroup(known.text).group : null;
    if (known?.kind === 'unsettled' && group !== null) {
      this.#inFlight.set(email, [done]);
      if (spelled !== email) this.#spelled.set(email, spelled);
      this.#pending.rejoin(email, answered(known.text), group);
      return;
    }
    if (known !== null) {
      if (known.kind === 'hit') this.#context.gate.recognise();
      done(fromLedger(known));
      return;
    }
    this.#inFlight.set(email, [done]);
    const doubtful = this.#context.gate.recall('verify', email);
    if (doubtful !== null) {
      this.#doubt(doubtful);
      return;
    }
    if (spelled !== email) this.#spelled.set(email, spelled);
    this.#asking++;
    this.#context.ledger.ask(this.#scope, email, (told) => {
      this.#asking--;
      if (told === null) {
        this.#queue.add(email);
        return;
      }
      this.#deliver(email, fromLedger(told));
      this.#context.onProgress();
    });
  }

  /** What has been gathered goes, full or not, as far as the service can take it now. */
  flush(): void {
    this.#queue.flush();
  }

  /** Groups that wait for members who will not come go without them. */
  giveUpOnMissing(): void {
    this.#pending.goAsTheyAre();
  }

  /** Nobody is asked about again; who waits for that is left to the next run. */
  stop(): void {
    this.#pending.stop();
    this.#queue.stop();
  }

  #send(group: Group, asked: number): void {
    const { emails } = group;
    const body = this.#bodyFor(emails);
    // By the body alone a service would repeat the answer that left them out.
    const idempotencyKey = this.#context.idempotencyKey(asked === 1 ? body : `${body}\nleft out`);
    this.#queue.left();
    this.#submit({ emails, body, idempotencyKey }, (ended) => {
      this.#settle(group, asked, idempotencyKey, ended);
      this.#queue.ended(emails.length, ended.settled.kind === 'ok' ? ended.latencyMs : null);
      this.#queue.sendNext();
    });
  }

  /** What comes of it or does not, there is a verdict already. */
  #askAgain(group: PendingGroup, members: Members): void {
    const all = [...members];
    const most = this.#queue.most ?? all.length;
    for (let at = 0; at < all.length; at += most) this.#askPartAgain(group, new Map(all.slice(at, at + most)));
  }

  #askPartAgain(group: PendingGroup, members: Members): void {
    const emails = [...members.keys()];
    const body = this.#bodyFor(emails);
    // By the body alone the service would repeat what it said before.
    const idempotencyKey = this.#context.idempotencyKey(`${body}\n${group.round}`);
    this.#submit({ emails, body, idempotencyKey }, ({ settled, tooLarge }) => {
      if (settled.kind === 'suppressed' && emails.length === 1) return this.#end(emails, { kind: 'suppressed' }, true);
      if (tooLarge !== null && this.#queue.wasTooLarge(emails.length, tooLarge)) {
        this.#queue.sendNext();
        return this.#askAgain(group, members);
      }
      const found = new Map(emails.map((email) => {
        return [email, settled.kind === 'ok' ? this.#said(email, settled.value.byEmail) : null] as const;
      }));
      return this.#keep(found, members, { id: idempotencyKey, round: group.round + 1, endMs: group.endMs });
    });
  }

  #bodyFor(emails: readonly string[]): string {
    return this.#context.client.verifyBody(emails.map((email) => this.#spelled.get(email) ?? email));
  }

  /** What was answered about a key. A row must not show how whoever asked first spelled it. */
  #said(email: string, byEmail: VerifyAnswer['byEmail']): Answered<VerificationResult> | null {
    const answer = byEmail.get(email);
    if (answer === undefined) return null;
    const record = answer.email === this.#spelled.get(email) ? { ...answer, email } : answer;
    return { record, text: JSON.stringify(record) };
  }

  #submit(request: Omit<VerifyRequest, 'lateAttempts'>, settle: (ended: Ended) => void): void {
    this.#sent++;
    submitVerify(this.#context, { ...request, lateAttempts: this.#queue.lateAttempts(request.emails.length) }, this.#limitMs, (ended) => {
      this.#sent--;
      settle(ended);
      this.#context.onProgress();
    });
  }

  #settle(group: Group, asked: number, id: string, { settled, tooLarge }: Ended): void {
    const { emails } = group;
    if (settled.kind === 'ok') {
      this.#context.gate.vouch();
      this.#answered(group, asked, id, settled);
      return;
    }
    if (tooLarge !== null && this.#queue.wasTooLarge(emails.length, tooLarge)) {
      if (asked === 1) this.#queue.putBack(group);
      else this.#halve(group, asked);
      return;
    }
    const said = settled.kind === 'failed' ? (settled.rejected ? `${settled.status} ${settled.code}` : null) : `${settled.status} ${settled.kind}`;
    const refused = settled.kind === 'failed';
    if (emails.length > 1) {
      // One of them offends, or breaks the service each time: halve until it stands alone, so that its neighbours are not lost with it.
      const { gate } = this.#context;
      if (said !== null && refused) gate.refuse(said, null);
      else if (said !== null) gate.judge(said, null);
      this.#halve(group, asked);
      return;
    }
    const { attempts, requestId } = settled;
    const answer = settled.kind === 'suppressed' ? ({ kind: 'suppressed' } as const) : ({ kind: 'failed', code: settled.kind === 'failed' ? settled.code : settled.kind, attempts, requestId } as const);
    if (said === null) this.#end(emails, answer);
    else for (const key of emails) this.#doubt({ step: 'verify', key, said, refused, answer });
  }

  #halve(group: Group, asked: number): void {
    const half = Math.ceil(group.emails.length / 2);
    this.#send(partOf(group, (_, at) => at < half), asked);
    this.#send(partOf(group, (_, at) => at >= half), asked);
  }

  #doubt(doubtful: Doubtful): void {
    const outcome = withoutVerdict(doubtful.answer);
    this.#context.gate.doubt(doubtful, () => this.#end([doubtful.key], outcome));
  }

  #answered(group: Group, asked: number, id: string, settled: Settled<VerifyAnswer> & { kind: 'ok' }): void {
    const found = new Map<string, Answered<VerificationResult>>();
    const missing: string[] = [];
    for (const email of group.emails) {
      const said = this.#said(email, settled.value.byEmail);
      if (said === null) missing.push(email);
      else found.set(email, said);
    }
    this.#keep(found, null, { id, round: 1, endMs: Date.now() + this.#patienceMs });
    if (missing.length === 0) return;
    if (asked < ASK_FOR_MISSING) this.#send(partOf(group, (email) => !found.has(email)), asked + 1);
    else this.#fail(missing, { code: 'no_result', attempts: asked, requestId: settled.requestId });
  }

  /** Keeps what one request brought, all of it at once, and delivers what is final. `known`: what was said the time before, for those that the answer leaves out. */
  #keep(found: ReadonlyMap<string, Answered<VerificationResult> | null>, known: Members | null, next: Pick<PendingGroup, 'id' | 'round' | 'endMs'>): void {
    const final = new Map<string, Answered<VerificationResult>>();
    const pending = new Map<string, Answered<VerificationResult>>();
    const suppressed: string[] = [];
    const nowMs = Date.now();
    let dueMs = nowMs;
    for (const [email, said] of found) {
      const answer = said ?? known?.get(email);
      if (answer === undefined) continue;
      if (saysSuppressed(answer.record)) {
        suppressed.push(email);
        continue;
      }
      const waitMs = said === null || this.#patienceMs === 0 ? null : pendingMs(said.record, next.round, nowMs);
      // Patience would end before there is anything to learn.
      if (waitMs === null || nowMs + waitMs > next.endMs) {
        final.set(email, answer);
        continue;
      }
      pending.set(email, answer);
      dueMs = Math.max(dueMs, nowMs + waitMs);
    }
    const group = { ...next, size: pending.size, dueMs };
    const again = known !== null;
    const entries: LedgerEntry[] = [];
    for (const [key, { record, text }] of final) entries.push({ scope: this.#scope, key, answer: { kind: record.result === 'unknown' ? 'unsettled' : 'hit', text }, again });
    for (const [key, { text }] of pending) entries.push({ scope: this.#scope, key, answer: { kind: 'unsettled', text: withGroup(text, group) }, again });
    for (const key of suppressed) entries.push({ scope: this.#scope, key, answer: { kind: 'suppressed' }, again });
    this.#context.ledger.put(entries);
    for (const email of suppressed) this.#deliver(email, { kind: 'suppressed' });
    for (const [email, answer] of final) this.#deliver(email, { kind: 'verdict', answer });
    if (pending.size > 0) this.#pending.hold(group, pending);
  }

  #fail(emails: readonly string[], { code, attempts, requestId }: { code: string; attempts: number; requestId: string | null }): void {
    this.#end(emails, { kind: 'failed', code, attempts, requestId });
  }

  /** The same end for all of them. `again`: the ledger has them already. */
  #end(emails: readonly string[], outcome: Exclude<VerifyOutcome, { kind: 'verdict' }>, again = false): void {
    this.#context.ledger.put(emails.map((key) => ({ scope: this.#scope, key, answer: outcome, again })));
    for (const email of emails) this.#deliver(email, outcome);
  }

  #deliver(email: string, outcome: VerifyOutcome): void {
    const waiting = this.#inFlight.get(email) ?? [];
    this.#inFlight.delete(email);
    this.#spelled.delete(email);
    for (const done of waiting) done(outcome);
    // A map that is rebuilt leaves its old table behind, and with it, until the next full collection, the records that are waited for here.
    waiting.length = 0;
  }
}
