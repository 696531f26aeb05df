import { ASK_AGAIN_MS } from '../client/classify.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';
import type { Step } from '../steps/registry.ts';

/** A job stops after this many answers of one kind of 4xx and nothing else. */
export const DISTRUST_AFTER = 100;

/** A 4xx answer to one lookup. */
export interface QuarantinedAnswer {
  readonly step: Step;
  readonly key: string;
  /** The kind of the answer, such as `404 miss`. */
  readonly said: string;
  /** Whether the service refused the request. Otherwise it found nothing. */
  readonly refused: boolean;
  readonly answer: Exclude<LedgerAnswer, { readonly text: string }>;
  /** Present for a 404 that only a second one of the same lookup makes a miss: see `Miss.form`. */
  readonly form?: string;
}

/** The state of the quarantine, in the checkpoint. */
export interface QuarantineState {
  /** Whether the service has answered with anything else than one kind of 4xx. */
  readonly trusted: boolean;
  /** Quarantined answers. */
  readonly held?: readonly QuarantinedAnswer[] | undefined;
  /** The forms of this service's usual misses. Left out where none is known. */
  readonly missForms?: readonly string[] | undefined;
}

/** More forms than a service has. */
export const MOST_FORMS = 16;

/** A lookup whose 404 is no miss yet. */
interface UnprovenMiss {
  readonly doubtful: QuarantinedAnswer;
  readonly dueMs: number;
  readonly askAgain: () => void;
}

interface MissQuarantineOptions extends QuarantineState {
  readonly onDistrust: (answers: number, kind: string) => void;
  /** Milliseconds until a 404 of an unknown form is asked about once more. */
  readonly askAgainMs?: number;
}

/**
 * Holds back 4xx answers of a service that may be the wrong one, because it answers everything with the same 4xx.
 *
 * ## untrusted
 * Entered at the start. 4xx answers of one kind are quarantined: they reach neither the ledger nor the output.
 * A stopped run leaves them to the next one, which does not ask again.
 *
 * ## trusted
 * Entered by any other answer, or by a second kind of 4xx. Quarantined answers are released, and later ones pass.
 *
 * ## rejected
 * Entered by the job after `DISTRUST_AFTER` answers of one kind. The run ends.
 *
 * In every state a 404 of a form that this service has not shown as its usual miss is unproven: its lookup is asked once more, and only a
 * second 404 counts. Two of one form show the usual miss.
 */
export class MissQuarantine {
  #trusted: boolean;
  #isServiceRejected = false;
  /** The ledger has a match of this service. */
  #isKnownToLedger = false;
  /** The counted answers are refusals, not misses. */
  #countsRefusals = false;
  #kind: string | null = null;
  #answers = 0;
  #held: { readonly deliver: () => void; readonly doubtful: QuarantinedAnswer | null }[] = [];
  /** Quarantined by the run before, and not asked for yet by this one. By step and key. */
  readonly #restored: Map<string, QuarantinedAnswer>;
  readonly #onDistrust: (answers: number, kind: string) => void;
  readonly #askAgainMs: number;
  readonly #missForms: Set<string>;
  #unproven: UnprovenMiss[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor({ trusted, held = [], missForms = [], onDistrust, askAgainMs = ASK_AGAIN_MS }: MissQuarantineOptions) {
    this.#trusted = trusted;
    this.#missForms = new Set(missForms);
    this.#askAgainMs = askAgainMs;
    this.#restored = new Map(held.map((doubtful) => [idOf(doubtful.step, doubtful.key), doubtful]));
    this.#onDistrust = onDistrust;
  }

  get trusted(): boolean {
    return this.#trusted;
  }

  /** The service has answered with one kind of 4xx only, and the run ends for it. */
  get isServiceRejected(): boolean {
    return this.#isServiceRejected && !this.#trusted;
  }

  get size(): number {
    return this.#held.length;
  }

  /** The state for the checkpoint. Answers of a rejected service are asked for again. */
  get trust(): QuarantineState {
    if (this.isServiceRejected) return { trusted: false, held: [] };
    const held = [...this.#held, ...this.#unproven].flatMap(({ doubtful }) => (doubtful === null ? [] : [doubtful]));
    return {
      trusted: this.#trusted,
      held: [...this.#restored.values(), ...held],
      ...(this.#missForms.size === 0 ? {} : { missForms: [...this.#missForms] }),
    };
  }

  /** Lookups whose 404 is unproven, and when the first is asked once more (monotonic milliseconds); null without any. */
  get unproven(): { readonly lookups: number; readonly untilMs: number } | null {
    const [first] = this.#unproven;
    return first === undefined ? null : { lookups: this.#unproven.length, untilMs: first.dueMs };
  }

  /** Whether a 404 of this form is this service's usual miss. */
  isUsualMiss(form: string): boolean {
    return this.#missForms.has(form);
  }

  /** Keeps an unproven 404 until its lookup is asked once more. It counts as an answer, but is no miss. */
  prove(doubtful: QuarantinedAnswer, askAgain: () => void): void {
    this.judge(doubtful.said, null);
    this.#unproven.push({ doubtful, dueMs: performance.now() + this.#askAgainMs, askAgain });
    this.#wait();
  }

  /** A lookup was answered with two 404s. */
  missedTwice(first: string, second: string): void {
    if (first === second && this.#missForms.size < MOST_FORMS) this.#missForms.add(first);
  }

  /** Asks all lookups whose 404 is unproven once more, now. */
  askAgainNow(): void {
    const all = this.#unproven;
    this.#unproven = [];
    for (const { askAgain } of all) askAgain();
  }

  /** Asks nothing more: unproven 404s are left to the next run. */
  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #wait(): void {
    const [first] = this.#unproven;
    if (first === undefined || this.#timer !== null || this.#isStopped) return;
    this.#timer = setTimeout(() => this.#askDue(), Math.max(0, first.dueMs - performance.now()));
  }

  #askDue(): void {
    this.#timer = null;
    const nowMs = performance.now();
    const firstLater = this.#unproven.findIndex(({ dueMs }) => dueMs > nowMs);
    const due = this.#unproven.splice(0, firstLater === -1 ? this.#unproven.length : firstLater);
    for (const { askAgain } of due) askAgain();
    this.#wait();
  }

  /** An answer other than a 4xx: the service is the right one. */
  confirm(): void {
    if (this.#trusted) return;
    this.#trusted = true;
    this.release();
  }

  /** Nothing confirms that the service is the right one. */
  rejectService(): void {
    this.#isServiceRejected = true;
  }

  /**
   * The ledger has a match of this service, so that refusals no longer cast doubt on it: a run over the same list asks for nothing else.
   * Misses still do, because the ledger keeps them.
   */
  confirmByLedger(): void {
    if (this.#trusted || this.#isKnownToLedger) return;
    this.#isKnownToLedger = true;
    if (!this.#countsRefusals) return;
    this.#answers = 0;
    this.release();
  }

  /**
   * Quarantines an answer as a miss or a refusal. The next run gets it if this one does not come to `deliver`.
   * @param isCounted whether the lookup's first answer was counted already
   */
  quarantine(doubtful: QuarantinedAnswer, deliver: () => void, isCounted = false): void {
    if (doubtful.refused) this.refuse(doubtful.said, deliver, doubtful);
    else this.judge(doubtful.said, deliver, doubtful, isCounted);
  }

  /** `judge` for a refused request. */
  refuse(kind: string, deliver: (() => void) | null, doubtful: QuarantinedAnswer | null = null): void {
    if (this.#isKnownToLedger) {
      // It is not counted, but it is another kind of answer.
      if (this.#kind !== null && this.#kind !== kind) this.confirm();
      this.#kind = kind;
      deliver?.();
      return;
    }
    this.#countsRefusals = true;
    this.judge(kind, deliver, doubtful);
  }

  /** Takes an answer that the run before had quarantined, to be judged again; null without one. */
  takeRestored(step: Step, key: string): QuarantinedAnswer | null {
    if (this.#restored.size === 0) return null;
    const name = idOf(step, key);
    const doubtful = this.#restored.get(name) ?? null;
    this.#restored.delete(name);
    return doubtful;
  }

  /**
   * Judges a 4xx answer. `deliver` runs now, or once the service is trusted or the input ends.
   * @param doubtful the answer for the next run if this one does not deliver it; null when the next run asks again
   * @param isCounted see `quarantine`
   */
  judge(kind: string, deliver: (() => void) | null, doubtful: QuarantinedAnswer | null = null, isCounted = false): void {
    if (!this.#trusted) {
      if (this.#kind !== null && this.#kind !== kind) {
        this.confirm();
      } else {
        this.#kind = kind;
        if (deliver !== null) this.#held.push({ deliver, doubtful });
        if (!isCounted && ++this.#answers >= DISTRUST_AFTER) this.#onDistrust(this.#answers, kind);
        return;
      }
    }
    deliver?.();
  }

  /** Delivers all quarantined answers. At the end of a short input they are valid. */
  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const { deliver } of held) deliver();
  }
}

function idOf(step: Step, key: string): string {
  return `${step} ${key}`;
}
