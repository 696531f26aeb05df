/** The parts of a request for several keys: halves of one that failed, and keys that an answer left out. Pure. */
import type { EarlierPromise } from '../pool/call.ts';
import type { LookupGroup } from './lookup-queue.ts';

/** The ledger's note about a key without an answer: the request, or the part of one, that asks for it. */
export interface PartNote {
  /** Names the part. */
  readonly id: string;
  /** Keys in the part. */
  readonly size: number;
  /** How often each of them has been asked for, this time included. */
  readonly asked: number;
  /** The name of a promise to answer later, with which the request asks again without paying; null without one. */
  readonly ticket: string | null;
  /** When the provider first promised the answer, milliseconds since 1970; null without a promise, and in notes of earlier versions. */
  readonly promisedAt: number | null;
  /** Credits that the promise has named; 0 without one, and in notes of earlier versions. */
  readonly charged: number;
}

type NoteText = [id: string, size: number, asked: number, ticket?: string, promisedAt?: number | null, charged?: number];

export function writeNote({ id, size, asked, ticket, promisedAt, charged }: PartNote): string {
  const part: NoteText = [id, size, asked];
  if (ticket !== null) part.push(ticket, promisedAt, ...(charged === 0 ? [] : [charged]));
  return JSON.stringify(part);
}

export function readNote(text: string): PartNote {
  const [id, size, asked, ticket = null, promisedAt = null, charged = 0] = JSON.parse(text) as NoteText;
  return { id, size, asked, ticket, promisedAt, charged };
}

/**
 * The keys of one request. A split request leaves parts behind. Once one of them has an answer in the ledger, the ledger must also
 * name the other parts. A resume would otherwise fill them up and use another Idempotency-Key.
 */
export class RequestPart {
  readonly keys: readonly string[];
  /** How often each of them has been asked for, this time included. */
  readonly asked: number;
  /** Its place in the queue; null for a part of a request. */
  readonly group: LookupGroup | null;
  /** Parts of the same request that are not settled. */
  readonly #open: Set<RequestPart>;
  /** The Idempotency-Key of the request that was promised an answer, where another run or start has sent it; null otherwise. */
  readonly promisedAs: string | null;
  #isKept: boolean;
  #isNoted: boolean;
  #ticket: string | null;
  #promisedAt: number | null;
  #charged: number;

  private constructor(
    keys: readonly string[],
    asked: number,
    {
      group = null,
      open = new Set(),
      isKept = false,
      isNoted = false,
      ticket = null,
      promisedAt = null,
      promisedAs = null,
      charged = 0,
    }: {
      group?: LookupGroup | null;
      open?: Set<RequestPart>;
      isKept?: boolean;
      isNoted?: boolean;
      ticket?: string | null;
      promisedAt?: number | null;
      promisedAs?: string | null;
      charged?: number;
    },
  ) {
    this.keys = keys;
    this.asked = asked;
    this.group = group;
    this.#open = open;
    this.#isKept = isKept;
    this.#isNoted = isNoted;
    this.#ticket = ticket;
    this.#promisedAt = promisedAt;
    this.promisedAs = promisedAs;
    this.#charged = charged;
    open.add(this);
  }

  /** A request as the queue fills it. */
  static whole(group: LookupGroup): RequestPart {
    return new RequestPart(group.keys, 1, { group });
  }

  /** A request for keys that no queue takes back. */
  static first(keys: readonly string[]): RequestPart {
    return new RequestPart(keys, 1, {});
  }

  /** A part that the run before left behind. */
  static ofNote({ id, asked, ticket, promisedAt, charged }: PartNote, keys: readonly string[]): RequestPart {
    const promisedAs = ticket === null ? null : id;
    return new RequestPart(keys, asked, { isKept: true, isNoted: true, ticket, promisedAt, promisedAs, charged });
  }

  /** Whether the ledger has entries of its keys. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** The name of the latest promise to answer this part later; null without one. */
  get ticket(): string | null {
    return this.#ticket;
  }

  /** When the first promise came, and the credits that were named for it; null without one. */
  get promise(): EarlierPromise | null {
    return this.#ticket === null ? null : { at: this.#promisedAt, charged: this.#charged };
  }

  /**
   * The part is answered later. The caller stores the parts of `takeUnnoted`, this one among them.
   * @param charged credits that were named for it so far @param nowMs milliseconds since 1970
   */
  isPromised(ticket: string, charged: number, nowMs: number): void {
    this.#ticket = ticket;
    this.#charged = charged;
    this.#promisedAt ??= nowMs;
    this.#isNoted = false;
  }

  /** The ledger's note about this part. @param id its Idempotency-Key */
  note(id: string): PartNote {
    return { id, size: this.keys.length, asked: this.asked, ticket: this.#ticket, promisedAt: this.#promisedAt, charged: this.#charged };
  }

  /** The request as a whole has ended. */
  settle(): void {
    this.#open.delete(this);
  }

  /** Replaces this part, which is settled by that. */
  split(parts: readonly (readonly string[])[], asked: number): RequestPart[] {
    this.settle();
    return parts.map((keys) => new RequestPart(keys, asked, { open: this.#open, isKept: this.#isKept }));
  }

  /** Open parts of the same request that the ledger does not have. The caller stores them: from now on they count as stored. */
  takeUnnoted(): { readonly part: RequestPart; readonly again: boolean }[] {
    return [...this.#open]
      .filter((part) => !part.#isNoted)
      .map((part) => {
        const again = part.#isKept;
        part.#isKept = true;
        part.#isNoted = true;
        return { part, again };
      });
  }
}
