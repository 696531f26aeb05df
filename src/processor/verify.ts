import type { VerifyAnswer } from '../client/verify-answer.ts';
import type { VerificationResult } from '../client/types.ts';
import type { LedgerEntry } from '../ledger/ledger.ts';
import type { Settled } from '../pool/call-pool.ts';
import type { RequestPace, StepContext } from './context.ts';
import { PendingGroups, type Members } from './pending-groups.ts';
import { readGroup, withGroup, type PendingGroup } from './pending.ts';
import { RejoinedGroups } from './rejoined-groups.ts';
import { readNote, RequestPart, writeNote, type PartNote } from './request-parts.ts';
import { RequestQueue } from './request-queue.ts';
import type { Answered } from './result.ts';
import type { Doubtful } from './trust-gate.ts';
import { answered, fromLedger, withoutVerdict, type VerifyOutcome } from './verify-outcome.ts';
import { sortVerdicts } from './sort-verdicts.ts';
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
  /** Parts of requests of a run before. */
  readonly #rejoined = new RejoinedGroups<PartNote, null>();
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
    this.#queue = new RequestQueue({ batch, pace: pace ?? null, send: (group) => this.#send(RequestPart.whole(group)), onKept: context.onProgress });
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
    return this.#pending.incomplete + this.#rejoined.incomplete;
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
    if (known?.kind === 'asking') {
      this.#inFlight.set(email, [done]);
      if (spelled !== email) this.#spelled.set(email, spelled);
      this.#rejoin(readNote(known.text), email);
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
    for (const { group, members } of this.#rejoined.takeAll()) this.#send(RequestPart.ofNote(group, [...members.keys()]));
  }

  /** Nobody is asked about again; who waits for that is left to the next run. */
  stop(): void {
    this.#pending.stop();
    this.#queue.stop();
  }

  #rejoin(note: PartNote, email: string): void {
    const members = this.#rejoined.add(note, email, null);
    if (members !== null) this.#send(RequestPart.ofNote(note, [...members.keys()]));
  }

  #send(part: RequestPart): void {
    const { emails } = part;
    const [body, idempotencyKey] = [this.#bodyFor(emails), this.#keyOf(part)];
    this.#queue.left();
    this.#submit({ emails, body, idempotencyKey }, (ended) => {
      this.#settle(part, idempotencyKey, ended);
      this.#queue.ended(emails.length, ended.settled.kind === 'ok' ? ended.latencyMs : null);
      this.#queue.sendNext();
    });
  }

  /** By the body alone a service would repeat the answer that left the addresses out. */
  #keyOf({ emails, asked }: RequestPart): string {
    const body = this.#bodyFor(emails);
    return this.#context.idempotencyKey(asked === 1 ? body : `${body}\nleft out`);
  }

  /** What comes of it or does not, there is a verdict already. */
  #askAgain(group: PendingGroup, members: Members): void {
    const most = this.#queue.most ?? members.size;
    if (members.size <= most) {
      this.#askGroupAgain(group, members);
      return;
    }
    const parts: Members[] = [];
    for (const all = [...members]; all.length > 0;) parts.push(new Map(all.splice(0, most)));
    const groups = parts.map((part) => [{ ...group, id: this.#againKey(group, part), size: part.size }, part] as const);
    // A resume asks for the same parts, whatever its requests hold.
    this.#context.ledger.put(groups.flatMap(([one, part]) => this.#pendingEntries(one, part, true)));
    for (const [one, part] of groups) this.#askGroupAgain(one, part);
  }

  #askGroupAgain(group: PendingGroup, members: Members): void {
    const emails = [...members.keys()];
    const idempotencyKey = this.#againKey(group, members);
    this.#submit({ emails, body: this.#bodyFor(emails), idempotencyKey }, ({ settled, tooLarge }) => {
      if (settled.kind === 'suppressed' && emails.length === 1) return this.#end(emails, { kind: 'suppressed' }, 'again');
      if (tooLarge !== null && this.#queue.wasTooLarge(emails.length, tooLarge)) {
        this.#queue.sendNext();
        return this.#askAgain(group, members);
      }
      const found = new Map(emails.map((email) => {
        return [email, settled.kind === 'ok' ? this.#said(email, settled.value.byEmail) : null] as const;
      }));
      return this.#keep(found, null, members, { id: idempotencyKey, round: group.round + 1, endMs: group.endMs });
    });
  }

  /** By the body alone the service would repeat what it said before. */
  #againKey({ round }: PendingGroup, members: Members): string {
    return this.#context.idempotencyKey(`${this.#bodyFor([...members.keys()])}\n${round}`);
  }

  #pendingEntries(group: PendingGroup, members: Members, again: boolean): LedgerEntry[] {
    return [...members].map(([key, { text }]) => ({ scope: this.#scope, key, answer: { kind: 'unsettled', text: withGroup(text, group) }, again }));
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

  #settle(part: RequestPart, id: string, { settled, tooLarge }: Ended): void {
    const { emails } = part;
    part.settle();
    if (settled.kind === 'ok') {
      this.#context.gate.vouch();
      this.#answered(part, id, settled);
      return;
    }
    if (tooLarge !== null && this.#queue.wasTooLarge(emails.length, tooLarge)) {
      if (part.group !== null) this.#queue.putBack(part.group);
      else this.#halve(part);
      return;
    }
    const said = settled.kind === 'failed' ? (settled.rejected ? `${settled.status} ${settled.code}` : null) : `${settled.status} ${settled.kind}`;
    const refused = settled.kind === 'failed';
    if (emails.length > 1) {
      // One of them offends, or breaks the service each time: halve until it stands alone, so that its neighbours are not lost with it.
      const { gate } = this.#context;
      if (said !== null && refused) gate.refuse(said, null);
      else if (said !== null) gate.judge(said, null);
      this.#halve(part);
      return;
    }
    const { attempts, requestId } = settled;
    const answer = settled.kind === 'suppressed' ? ({ kind: 'suppressed' } as const) : ({ kind: 'failed', code: settled.kind === 'failed' ? settled.code : settled.kind, attempts, requestId } as const);
    if (said === null) this.#end(emails, answer, part);
    else for (const key of emails) this.#doubt({ step: 'verify', key, said, refused, answer }, part);
  }

  #halve(part: RequestPart): void {
    const half = Math.ceil(part.emails.length / 2);
    const halves = part.split([part.emails.slice(0, half), part.emails.slice(half)], part.asked);
    // The ledger may name the part, which is not asked for again as a whole.
    if (part.isKept) this.#context.ledger.put(this.#notesOf(part));
    for (const one of halves) this.#send(one);
  }

  /** What the ledger has to know as soon as it has an answer to a part of the same request. */
  #notesOf(part: RequestPart): LedgerEntry[] {
    return part.takeUnnoted().flatMap(({ part: other, again }) => {
      const text = writeNote({ id: this.#keyOf(other), size: other.emails.length, asked: other.asked });
      return other.emails.map((key): LedgerEntry => ({ scope: this.#scope, key, answer: { kind: 'asking', text }, again }));
    });
  }

  /** @param part left out: the run before was told so */
  #doubt(doubtful: Doubtful, part?: RequestPart): void {
    const outcome = withoutVerdict(doubtful.answer);
    this.#context.gate.doubt(doubtful, () => this.#end([doubtful.key], outcome, part));
  }

  #answered(part: RequestPart, id: string, settled: Settled<VerifyAnswer> & { kind: 'ok' }): void {
    const found = new Map<string, Answered<VerificationResult>>();
    const missing: string[] = [];
    for (const email of part.emails) {
      const said = this.#said(email, settled.value.byEmail);
      if (said === null) missing.push(email);
      else found.set(email, said);
    }
    const again = part.asked < ASK_FOR_MISSING && missing.length > 0 ? part.split([missing], part.asked + 1) : [];
    this.#keep(found, part, null, { id, round: 1, endMs: Date.now() + this.#patienceMs });
    for (const one of again) this.#send(one);
    if (missing.length > 0 && again.length === 0) this.#end(missing, { kind: 'failed', code: 'no_result', attempts: part.asked, requestId: settled.requestId }, part);
  }

  /** Keeps what one request brought, all of it at once, and delivers what is final. `known`: what was said the time before, for those that the answer leaves out. */
  #keep(found: ReadonlyMap<string, Answered<VerificationResult> | null>, part: RequestPart | null, known: Members | null, next: Pick<PendingGroup, 'id' | 'round' | 'endMs'>): void {
    const { final, pending, suppressed, dueMs } = sortVerdicts(found, known, { ...next, patienceMs: this.#patienceMs, nowMs: Date.now() });
    const group = { ...next, size: pending.size, dueMs };
    const again = known !== null || part?.isKept === true;
    const entries: LedgerEntry[] = [];
    for (const [key, { record, text }] of final) entries.push({ scope: this.#scope, key, answer: { kind: record.result === 'unknown' ? 'unsettled' : 'hit', text }, again });
    entries.push(...this.#pendingEntries(group, pending, again));
    for (const key of suppressed) entries.push({ scope: this.#scope, key, answer: { kind: 'suppressed' }, again });
    this.#context.ledger.put(part === null ? entries : [...entries, ...this.#notesOf(part)]);
    for (const email of suppressed) this.#deliver(email, { kind: 'suppressed' });
    for (const [email, answer] of final) this.#deliver(email, { kind: 'verdict', answer });
    if (pending.size > 0) this.#pending.hold(group, pending);
  }

  /** The same end for all of them. @param from the request; `again`: the ledger has them already. Left out: there was none in this run */
  #end(emails: readonly string[], outcome: Exclude<VerifyOutcome, { kind: 'verdict' }>, from?: RequestPart | 'again'): void {
    const again = from === 'again' || from?.isKept === true;
    const notes = from === undefined || from === 'again' ? [] : this.#notesOf(from);
    this.#context.ledger.put([...emails.map((key) => ({ scope: this.#scope, key, answer: outcome, again })), ...notes]);
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
