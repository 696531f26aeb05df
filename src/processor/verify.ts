import type { VerifyAnswer } from '../client/verify-answer.ts';
import type { VerificationResult } from '../client/types.ts';
import type { RecordOrigin } from '../formats/input-record.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { RequestPace, StepContext } from './step-context.ts';
import { AddressInFlight } from './address-in-flight.ts';
import { unavailable } from './lookup-outcome.ts';
import { partsOf, PendingGroups, type PendingMembers } from './pending-groups.ts';
import { readGroup, type PendingGroup } from './pending.ts';
import { RejoinedGroups } from './rejoined-groups.ts';
import { readNote, RequestPart, type PartNote } from './request-parts.ts';
import { RequestQueue } from './request-queue.ts';
import type { StepAnswer } from './result.ts';
import type { QuarantinedAnswer } from './miss-quarantine.ts';
import { answered, fromLedger, isUnreadable, unanswered, withNote, withoutVerdict, type VerifyOutcome } from './verify-outcome.ts';
import { sortVerdicts } from './sort-verdicts.ts';
import { VerifyBodies } from './verify-bodies.ts';
import { VerifyEntries } from './verify-entries.ts';
import { submitVerify, type EndedRequest, type VerifyBatchRequest } from './verify-request.ts';

/** The specification's limit for one request. */
export const VERIFY_BATCH = 1_000;

interface VerifyOptions {
  /** How long verdicts that are not final are polled, from the first answer on, milliseconds; 0 for no polling. */
  readonly pollForMs: number;
  /** Addresses in a full request. */
  readonly batch?: number;
  /** Absent: requests are always full, and as many in flight as the pool takes. */
  readonly pace?: RequestPace;
}

/** Requests for addresses that an answer left out: one more. */
const ASK_FOR_MISSING = 2;

/**
 * The verify step: fills requests of 1,000 addresses across records. Addresses arrive in input order. A run after a kill fills the same
 * requests, and a service that honours Idempotency-Key charges them once. Verdicts that are not final are polled, by request, until they
 * are final or polling ends.
 *
 * A request that is too large for the service, for example one that times out, is halved at once, and the size that works is kept.
 */
export class VerifyStep {
  readonly #context: StepContext;
  readonly #batch: number;
  readonly #scope: number;
  readonly #pollForMs: number;
  readonly #pending: PendingGroups;
  /** Parts of requests of the run before. */
  readonly #rejoined = new RejoinedGroups<PartNote, null>();
  readonly #inFlight = new Map<string, AddressInFlight>();
  readonly #bodies: VerifyBodies;
  readonly #entries: VerifyEntries;
  readonly #queue: RequestQueue;
  readonly #limitMs: number | null;
  #sent = 0;
  /** Addresses that wait for other runs. */
  #asking = 0;
  /** Addresses whose answer is in quarantine. */
  readonly #held = new Set<string>();
  /** Why the provider was given up; null while it is not. */
  #gaveUpFor: string | null = null;

  constructor(context: StepContext, scope: number, { pollForMs, batch = VERIFY_BATCH, pace }: VerifyOptions) {
    this.#batch = batch;
    this.#context = context;
    this.#scope = scope;
    this.#bodies = new VerifyBodies(context);
    this.#entries = new VerifyEntries(scope, this.#bodies);
    this.#pollForMs = pollForMs;
    this.#limitMs = pace?.limitMs ?? null;
    this.#queue = new RequestQueue({
      batch,
      pace: pace ?? null,
      send: (group) => this.#send(RequestPart.whole(group)),
      onKept: context.onSettled,
    });
    this.#pending = new PendingGroups(pollForMs, (group, members) => this.#askAgain(group, members), context.onPending);
  }

  /** Calls that are in flight or waiting, also for a checkpoint, and addresses that wait for other runs. */
  get callsPending(): number {
    return this.#sent + this.#asking + (this.#queue.isKeeping ? 1 : 0);
  }

  /** Whether requests carry several addresses. Their order then decides which request an address is in. */
  get fillsRequests(): boolean {
    return this.#batch > 1;
  }

  /** Addresses waiting for a request to fill up. */
  get lookupsWaiting(): number {
    return this.#queue.size;
  }

  /** Groups of the run before that are still incomplete. */
  get groupsIncomplete(): number {
    return this.#pending.incomplete + this.#rejoined.incomplete;
  }

  /** Addresses whose verdict is polled later; null without any. */
  get addressesPending(): PendingGroups['waiting'] {
    return this.#pending.waiting;
  }

  /**
   * @param spelled the spelling that the service gets. The first record with a key decides it, so that a request stays the same when it is
   * sent again @param origin the record that asks; null for a key of the command line
   */
  ask(email: string, done: (outcome: VerifyOutcome) => void, spelled = email, origin: RecordOrigin | null = null): void {
    const asked = this.#inFlight.get(email);
    if (asked !== undefined) {
      asked.add(done);
      return;
    }
    const known = this.#context.ledger.get(this.#scope, email);
    if (this.#gaveUpFor !== null) {
      done(known === null || known.kind === 'asking' ? unavailable(this.#gaveUpFor) : fromLedger(known));
      return;
    }
    const group = known?.kind === 'unsettled' ? readGroup(known.text).group : null;
    if (known?.kind === 'asking' || (known?.kind === 'unsettled' && group !== null)) {
      this.#inFlight.set(email, new AddressInFlight(origin, done));
      this.#bodies.spell(email, spelled);
      if (group !== null) return this.#pending.rejoin(email, answered(known.text), group);
      const note = readNote(known.text);
      const members = this.#rejoined.add(note, email, null);
      if (members !== null) this.#send(RequestPart.ofNote(note, [...members.keys()]));
      return;
    }
    if (known !== null) {
      if (known.kind === 'hit') this.#context.quarantine.confirmByLedger();
      done(fromLedger(known));
      return;
    }
    this.#inFlight.set(email, new AddressInFlight(origin, done));
    const doubtful = this.#context.quarantine.takeRestored('verify', email);
    if (doubtful !== null) {
      this.#quarantine(doubtful);
      return;
    }
    this.#bodies.spell(email, spelled);
    this.#asking++;
    this.#context.ledger.ask(this.#scope, email, (told) => {
      this.#asking--;
      const isOpen = this.#gaveUpFor === null;
      if (isOpen && told === null) {
        this.#queue.add(email);
        return;
      }
      if (isOpen && told !== null) this.#deliver(email, fromLedger(told));
      if (told === null) this.#context.ledger.release(this.#scope, [email]);
      this.#context.onSettled();
    });
  }

  /** Sends the waiting addresses, in full requests or not, as far as the service can take them now. */
  flush(): void {
    this.#queue.flush();
  }

  /** Sends incomplete groups as they are: no more members arrive. */
  giveUpOnMissing(): void {
    this.#pending.goAsTheyAre();
    for (const { group, members } of this.#rejoined.takeAll()) this.#send(RequestPart.ofNote(group, [...members.keys()]));
  }

  /**
   * Gives the provider up: settles every address, now and from now on. A pending verdict counts as it is, any other address is
   * `unavailable`. The ledger gets nothing, so that the next run asks. Call it after `drain` of the pool, so that no paid answer is in
   * flight.
   * @param code for the records
   */
  giveUp(code: string): void {
    if (this.#gaveUpFor !== null) return;
    this.#gaveUpFor = code;
    const { quarantine, ledger, onSettled } = this.#context;
    this.#queue.clear();
    this.#pending.clear();
    this.#rejoined.takeAll();
    this.#sent = 0;
    const open = [...this.#inFlight.keys()].filter((email) => quarantine.isServiceRejected || !this.#held.has(email));
    ledger.release(this.#scope, open);
    for (const email of open) {
      const known = ledger.get(this.#scope, email);
      this.#deliver(email, known?.kind === 'unsettled' ? fromLedger(known) : unavailable(code));
    }
    onSettled();
  }

  /** Polls nothing more: open verdicts are left to the next run. */
  stop(): void {
    this.#pending.stop();
    this.#queue.stop();
  }

  #send(part: RequestPart): void {
    const { keys: emails } = part;
    const [body, idempotencyKey] = [this.#bodies.bodyFor(emails), this.#bodies.keyOf(part)];
    this.#queue.left();
    const promised = (ticket: string): void => {
      part.promise(ticket);
      this.#context.ledger.put(this.#entries.notesOf(part));
    };
    this.#submit({ emails, body, idempotencyKey, ticket: part.ticket, promised }, (ended) => {
      this.#settle(part, idempotencyKey, ended);
      this.#queue.ended(emails.length, ended.settled.kind === 'ok' ? ended.latencyMs : null);
      this.#queue.sendNext();
    });
  }

  /** Polls a group, with `most` addresses a request. Every address has a verdict already, even if this request fails. */
  #askAgain(group: PendingGroup, members: PendingMembers, most = this.#queue.most ?? members.size): void {
    if (members.size <= most) return this.#askGroupAgain(group, members);
    const groups = partsOf(members, most).map(
      (part) => [{ ...group, id: this.#bodies.pollKey(group, part.keys()), size: part.size }, part] as const,
    );
    // A resume polls the same parts, whatever the size of its requests.
    this.#context.ledger.put(groups.flatMap(([one, part]) => this.#entries.pending(one, part, true)));
    for (const [one, part] of groups) this.#askGroupAgain(one, part);
  }

  #askGroupAgain(group: PendingGroup, members: PendingMembers): void {
    const emails = [...members.keys()];
    const idempotencyKey = this.#bodies.pollKey(group, members.keys());
    // A poll's ticket is not kept: after a crash the poll is sent again, under the same Idempotency-Key.
    const request = { emails, body: this.#bodies.bodyFor(emails), idempotencyKey, ticket: null, promised: () => undefined };
    this.#submit(request, ({ settled, tooLarge, isTooDear }) => {
      if (isTooDear) return this.#askAgain(group, members, Math.ceil(members.size / 2));
      if (settled.kind === 'suppressed' && emails.length === 1) return this.#end(emails, { kind: 'suppressed' }, 'again');
      if (tooLarge !== null && this.#queue.wasTooLarge(emails.length, tooLarge)) {
        this.#queue.sendNext();
        return this.#askAgain(group, members);
      }
      const found = this.#bodies.answersFor(emails, settled.kind === 'ok' ? settled.value.byEmail : null);
      return this.#keep(found, null, members, { id: idempotencyKey, round: group.round + 1, endMs: group.endMs });
    });
  }

  #submit(request: Omit<VerifyBatchRequest, 'lateAttempts' | 'origin'>, settle: (ended: EndedRequest) => void): void {
    this.#sent++;
    const { origin = null } = this.#inFlight.get(request.emails[0] ?? '') ?? {};
    const lateAttempts = this.#queue.lateAttempts(request.emails.length);
    submitVerify(this.#context, { ...request, origin, lateAttempts }, this.#limitMs, (ended) => {
      if (this.#gaveUpFor === null) this.#sent--;
      settle(ended);
      this.#context.onSettled();
    });
  }

  #settle(part: RequestPart, id: string, { settled, tooLarge, isTooDear }: EndedRequest): void {
    const { keys: emails } = part;
    part.settle();
    if (settled.kind === 'ok') {
      this.#context.quarantine.confirm();
      this.#answered(part, id, settled);
      return;
    }
    if (isTooDear) return this.#halve(part);
    if (tooLarge !== null && this.#queue.wasTooLarge(emails.length, tooLarge)) {
      if (part.group !== null && !part.isKept) this.#queue.putBack(part.group);
      else this.#halve(part);
      return;
    }
    const { said, refused, answer } = unanswered(settled);
    if (emails.length > 1 && !isUnreadable(settled)) {
      // One address is refused or breaks the service: halve until it is alone, so that its neighbours get their verdicts.
      const { quarantine } = this.#context;
      if (said !== null && refused) quarantine.refuse(said, null);
      else if (said !== null) quarantine.judge(said, null);
      this.#halve(part);
      return;
    }
    if (said === null) this.#end(emails, withNote(answer, part.note(id)), part);
    else for (const key of emails) this.#quarantine({ step: 'verify', key, said, refused, answer }, part);
  }

  #halve(part: RequestPart): void {
    const half = Math.ceil(part.keys.length / 2);
    const halves = part.split([part.keys.slice(0, half), part.keys.slice(half)], part.asked);
    // The ledger may name the part, which is no longer asked for as a whole.
    if (part.isKept) this.#context.ledger.put(this.#entries.notesOf(part));
    for (const one of halves) this.#send(one);
  }

  /** @param part absent when the run before got the answer */
  #quarantine(doubtful: QuarantinedAnswer, part?: RequestPart): void {
    const outcome = withoutVerdict(doubtful.answer);
    this.#held.add(doubtful.key);
    this.#context.quarantine.quarantine(doubtful, () => {
      this.#held.delete(doubtful.key);
      this.#end([doubtful.key], outcome, part);
    });
  }

  #answered(part: RequestPart, id: string, settled: SettledCall<VerifyAnswer> & { kind: 'ok' }): void {
    const found = new Map<string, StepAnswer<VerificationResult>>();
    const missing: string[] = [];
    for (const email of part.keys) {
      const said = this.#bodies.answerFor(email, settled.value.byEmail);
      if (said === null) missing.push(email);
      else found.set(email, said);
    }
    const again = part.asked < ASK_FOR_MISSING && missing.length > 0 ? part.split([missing], part.asked + 1) : [];
    this.#keep(found, part, null, { id, round: 1, endMs: Date.now() + this.#pollForMs });
    for (const one of again) this.#send(one);
    if (missing.length > 0 && again.length === 0)
      this.#end(missing, { kind: 'failed', code: 'no_result', attempts: part.asked, requestId: settled.requestId }, part);
  }

  /**
   * Stores the verdicts of one request together, and delivers the final ones.
   * @param known the verdicts of the round before, for addresses that the answer leaves out
   */
  #keep(
    found: ReadonlyMap<string, StepAnswer<VerificationResult> | null>,
    part: RequestPart | null,
    known: PendingMembers | null,
    next: Pick<PendingGroup, 'id' | 'round' | 'endMs'>,
  ): void {
    const sorted = sortVerdicts(found, known, { ...next, pollForMs: this.#pollForMs, nowMs: Date.now() });
    const { final, pending, suppressed, dueMs } = sorted;
    const group = { ...next, size: pending.size, dueMs };
    const again = known !== null || part?.isKept === true;
    const entries = this.#entries.verdicts(sorted, group, again);
    this.#context.ledger.put(part === null ? entries : [...entries, ...this.#entries.notesOf(part)]);
    for (const email of suppressed) this.#deliver(email, { kind: 'suppressed' });
    for (const [email, answer] of final) this.#deliver(email, { kind: 'verdict', answer });
    if (pending.size > 0) this.#pending.hold(group, pending);
  }

  /**
   * Settles all of them with the same outcome. @param from the request; `again` when the ledger has them already; absent without a request
   * in this run
   */
  #end(emails: readonly string[], outcome: Exclude<VerifyOutcome, { kind: 'verdict' }>, from?: RequestPart | 'again'): void {
    const again = from === 'again' || from?.isKept === true;
    const notes = from === undefined || from === 'again' ? [] : this.#entries.notesOf(from);
    this.#context.ledger.put([...this.#entries.same(emails, outcome, again), ...notes]);
    for (const email of emails) this.#deliver(email, outcome);
  }

  #deliver(email: string, outcome: VerifyOutcome): void {
    const asked = this.#inFlight.get(email);
    this.#inFlight.delete(email);
    this.#bodies.forget(email);
    asked?.settle(outcome);
  }
}
