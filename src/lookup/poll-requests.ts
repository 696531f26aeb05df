/** Answers that are not final: they are asked for again, by request, until they are final or polling ends. */
import type { RecordAnswer } from '../client/attempt-client.ts';
import type { LedgerAnswer, LedgerEntry } from '../ledger/ledger.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { LookupAnswers } from './lookup-answers.ts';
import type { AnswerToOne, LookupForm, PollRule, StepLookup } from './lookup-form.ts';
import type { LookupInFlight } from './lookup-in-flight.ts';
import { keptAnswer, type StepAnswer } from './lookup-outcome.ts';
import { partsOf, PendingGroups, type PendingMembers } from './pending-groups.ts';
import { withGroup, type PendingGroup } from './pending.ts';
import type { RequestQueue } from './request-queue.ts';
import type { StepContext } from './step-context.ts';
import type { EndedRequest, SentRequest } from './submit-request.ts';

interface PollRequestsOptions<L extends StepLookup, R> {
  readonly context: StepContext;
  readonly form: LookupForm<L, R>;
  readonly rule: PollRule<R>;
  readonly answers: LookupAnswers<L, R>;
  readonly queue: RequestQueue | null;
  readonly submit: (
    request: Pick<SentRequest, 'keys' | 'origin' | 'idempotencyKey' | 'ticket' | 'promise' | 'send' | 'promised'>,
    settle: (ended: EndedRequest) => void,
  ) => void;
}

/** Sorts the answers of one request. */
export interface PollRound<L, R> {
  /** Whether the answer is polled for a final one. */
  takes(one: LookupInFlight<L, R>, answer: SettledCall<RecordAnswer<R>>): boolean;
  /** The ledger's entries of the answers that are not final. */
  entries(): LedgerEntry[];
  /** Waits until they are due. Call it once, when they are durable. */
  hold(): void;
}

export class PollRequests<L extends StepLookup, R> {
  readonly #options: PollRequestsOptions<L, R>;
  readonly #pending: PendingGroups<R>;

  constructor(options: PollRequestsOptions<L, R>) {
    this.#options = options;
    this.#pending = new PendingGroups(options.rule.forMs, (group, members) => this.#askAgain(group, members), options.context.onPending);
  }

  /** Groups of the run before that are still incomplete. */
  get incomplete(): number {
    return this.#pending.incomplete;
  }

  /** Lookups whose answer is polled later; null without any. */
  get waiting(): PendingGroups<R>['waiting'] {
    return this.#pending.waiting;
  }

  /** A lookup that the run before was polling. */
  rejoin(one: LookupInFlight<L, R>, known: LedgerAnswer & { readonly kind: 'unsettled' }, group: PendingGroup): void {
    this.#pending.rejoin(one.lookup.key, keptAnswer<R>(known), group);
  }

  /** Polls incomplete groups as they are: no more members arrive. */
  goAsTheyAre(): void {
    this.#pending.goAsTheyAre();
  }

  clear(): void {
    this.#pending.clear();
  }

  /** Polls nothing more: open answers are left to the next run. */
  stop(): void {
    this.#pending.stop();
  }

  /** The answers of a first request. @param id its Idempotency-Key */
  firstRound(id: string): PollRound<L, R> {
    return this.#round({ id, round: 1, endMs: Date.now() + this.#options.rule.forMs });
  }

  #round(next: Pick<PendingGroup, 'id' | 'round' | 'endMs'>): PollRound<L, R> {
    const { rule } = this.#options;
    const nowMs = Date.now();
    const pending = new Map<string, StepAnswer<R>>();
    let dueMs = nowMs;
    const group = (): PendingGroup => ({ ...next, size: pending.size, dueMs });
    return {
      takes: ({ lookup: { key } }, answer) => {
        if (answer.kind !== 'ok' || rule.forMs === 0) return false;
        const waitMs = rule.waitMs(answer.value.record, next.round, nowMs);
        // Polling would end before the next answer.
        if (waitMs === null || nowMs + waitMs > next.endMs) return false;
        pending.set(key, answer.value);
        dueMs = Math.max(dueMs, nowMs + waitMs);
        return true;
      },
      entries: () => this.#entries(group(), pending),
      hold: () => {
        if (pending.size > 0) this.#pending.hold(group(), pending);
      },
    };
  }

  #entries(group: PendingGroup, members: PendingMembers<R>): LedgerEntry[] {
    const { answers } = this.#options;
    return [...members].flatMap(([key, { text }]) => {
      const one = answers.find(key);
      return one === undefined ? [] : [answers.entry(one, { kind: 'unsettled', text: withGroup(text, group) })];
    });
  }

  /** Polls a group, with `most` lookups a request. Every lookup has an answer already, even if this request fails. */
  #askAgain(group: PendingGroup, members: PendingMembers<R>, most = this.#options.queue?.most ?? members.size): void {
    if (members.size <= most) {
      this.#askGroupAgain(group, members);
      return;
    }
    const groups = partsOf(members, most).map((part) => [{ ...group, id: this.#keyOf(group, part), size: part.size }, part] as const);
    // A resume polls the same parts, whatever the size of its requests.
    this.#options.context.ledger.put(groups.flatMap(([one, part]) => this.#entries(one, part)));
    for (const [one, part] of groups) this.#askGroupAgain(one, part);
  }

  #askGroupAgain(group: PendingGroup, members: PendingMembers<R>): void {
    const { form, queue, submit } = this.#options;
    const all = this.#lookupsOf(members);
    const request = form.requestFor(all.map(({ lookup }) => lookup));
    const idempotencyKey = this.#keyOf(group, members);
    const keys = members.size;
    submit(
      {
        keys,
        origin: all[0]?.origin ?? null,
        idempotencyKey,
        // A poll's ticket is not kept: after a crash the poll is sent again, under the same Idempotency-Key.
        ticket: null,
        promise: null,
        send: (options) => request.send(options),
        promised: () => undefined,
      },
      ({ settled, tooLarge, isTooDear }) => {
        if (isTooDear) {
          this.#askAgain(group, members, Math.ceil(keys / 2));
          return;
        }
        if (tooLarge !== null && queue?.wasTooLarge(keys, tooLarge) === true) {
          queue.sendNext();
          this.#askAgain(group, members);
          return;
        }
        const found = settled.kind === 'ok' ? request.answers(settled) : settled.kind === 'suppressed' && keys === 1 ? [settled] : [];
        this.#polled(all, found, members, { id: idempotencyKey, round: group.round + 1, endMs: group.endMs });
      },
    );
  }

  /** An answer that a poll leaves out stays as it was. */
  #polled(
    all: readonly LookupInFlight<L, R>[],
    found: readonly AnswerToOne<R>[],
    known: PendingMembers<R>,
    next: Pick<PendingGroup, 'id' | 'round' | 'endMs'>,
  ): void {
    const { answers } = this.#options;
    const round = this.#round(next);
    answers.together(
      () => {
        for (const [i, one] of all.entries()) {
          const said = found[i] ?? null;
          const before = known.get(one.lookup.key);
          if (said !== null && round.takes(one, said)) continue;
          if (said !== null && (said.kind === 'ok' || said.kind === 'suppressed')) answers.settle(one, said);
          else if (before !== undefined) answers.settle(one, { kind: 'ok', value: before, attempts: 1, requestId: null });
        }
      },
      () => round.entries(),
    );
    round.hold();
  }

  #lookupsOf(members: PendingMembers<R>): LookupInFlight<L, R>[] {
    return [...members.keys()].flatMap((key) => this.#options.answers.find(key) ?? []);
  }

  /** With the key of an earlier round, the service would repeat its earlier answer. */
  #keyOf({ round }: PendingGroup, members: PendingMembers<R>): string {
    const { context, form } = this.#options;
    return context.idempotencyKey(`${form.textOf(this.#lookupsOf(members).map(({ lookup }) => lookup))}\n${round}`);
  }
}
