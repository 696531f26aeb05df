/** The parts of a request for several keys: halves of one that failed, and keys that an answer left out. Pure. */
import type { EarlierPromise } from '../pool/call.ts';
import type { LookupGroup } from './lookup-queue.ts';

/** The ledger's note about a key without an answer: the request, or the part of one, that asks for it. */
export interface PartNote {
  /** Names the part. */
  readonly id: string;
  /** Keys in the part. */
  readonly size: number;
  /** How often each of them has been asked for, this time included. Above `MOST_ASKED` with a ticket: see `RequestPart.isLacking`. */
  readonly asked: number;
  /** The name of a promise to answer later, with which the request asks again without paying; null without one. */
  readonly ticket: string | null;
  /** When the provider first promised the answer, milliseconds since 1970; null without a promise, and in notes of earlier versions. */
  readonly promisedAt: number | null;
  /** Credits that the promise has named; 0 without one, and in notes of earlier versions. */
  readonly charged: number;
  /** The key's position in a request that was promised an answer; null in others, for a key alone, and in notes of earlier versions. */
  readonly at: number | null;
  /** In the note about a ticket of several keys: what names each lookup, in the order of the request. Null in notes about a key. */
  readonly members: readonly string[] | null;
}

/** Requests for a lookup that an answer leaves out: one more than the first. */
export const MOST_ASKED = 2;

type NoteText = [
  id: string,
  size: number,
  asked: number,
  ticket?: string,
  promisedAt?: number | null,
  charged?: number,
  at?: number | null,
  members?: readonly string[],
];

export function writeNote({ id, size, asked, ticket, promisedAt, charged, at, members }: PartNote): string {
  const part: NoteText = [id, size, asked];
  if (ticket === null) return JSON.stringify(part);
  part.push(ticket, promisedAt);
  if (members !== null) part.push(charged, null, members);
  else if (at !== null) part.push(charged, at);
  else if (charged !== 0) part.push(charged);
  return JSON.stringify(part);
}

export function readNote(text: string): PartNote {
  const [id, size, asked, ticket = null, promisedAt = null, charged = 0, at = null, members = null] = JSON.parse(text) as NoteText;
  return { id, size, asked, ticket, promisedAt, charged, at, members };
}

/** Whether the note is about a promise to several keys, which is asked for once for all of them. */
export function isShared({ ticket, size }: PartNote): boolean {
  return ticket !== null && size > 1;
}

/**
 * The keys of one request. A split request leaves parts behind. Once one of them has an answer in the ledger, the ledger must also
 * name the other parts. A resume would otherwise fill them up and use another Idempotency-Key.
 */
export class RequestPart {
  readonly keys: readonly string[];
  /** How often each of them has been asked for, this time included. */
  readonly asked: number;
  /** Keys of the request that was promised an answer: more than `keys` where some are no longer known. */
  readonly size: number;
  /** The position of each key in that request; null: their order here. */
  readonly places: readonly number[] | null;
  /** Its place in the queue; null for a part of a request. */
  readonly group: LookupGroup | null;
  /** Parts of the same request that are not settled. */
  readonly #open: Set<RequestPart>;
  #isKept: boolean;
  #isNoted: boolean;
  #ticket: string | null;
  #promisedAt: number | null;
  #charged: number;
  #promisedAs: string | null;

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
      size = keys.length,
      places = null,
    }: {
      group?: LookupGroup | null;
      open?: Set<RequestPart>;
      isKept?: boolean;
      isNoted?: boolean;
      ticket?: string | null;
      promisedAt?: number | null;
      promisedAs?: string | null;
      charged?: number;
      size?: number;
      places?: readonly number[] | null;
    },
  ) {
    this.keys = keys;
    this.asked = asked;
    this.size = size;
    this.places = places;
    this.group = group;
    this.#open = open;
    this.#isKept = isKept;
    this.#isNoted = isNoted;
    this.#ticket = ticket;
    this.#promisedAt = promisedAt;
    this.#promisedAs = promisedAs;
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

  /**
   * A part that the run before left behind. @param places of the keys in the request that was promised an answer, where some of its keys
   * are no longer known
   */
  static ofNote(
    { id, size, asked, ticket, promisedAt, charged }: PartNote,
    keys: readonly string[],
    places: readonly number[] | null = null,
  ): RequestPart {
    const promisedAs = ticket === null ? null : id;
    const whole = places === null ? {} : { size, places };
    return new RequestPart(keys, asked, { isKept: true, isNoted: true, ticket, promisedAt, promisedAs, charged, ...whole });
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

  /** The Idempotency-Key of the request that was promised an answer, whichever run has sent it; null without a promise. */
  get promisedAs(): string | null {
    return this.#promisedAs;
  }

  /**
   * The part is answered later. The caller stores the parts of `takeUnnoted`, this one among them.
   * @param id the Idempotency-Key of the request @param charged credits that were named for it so far @param nowMs milliseconds since 1970
   */
  isPromised(id: string, ticket: string, charged: number, nowMs: number): void {
    this.#promisedAs ??= id;
    this.#ticket = ticket;
    this.#charged = charged;
    this.#promisedAt ??= nowMs;
    this.#isNoted = false;
  }

  /** Whether a promise to several keys is open for it. */
  get isShared(): boolean {
    return this.#ticket !== null && this.size > 1;
  }

  /** An earlier answer to the ticket was read, and lacked these keys. */
  get isLacking(): boolean {
    return this.#ticket !== null && this.asked > MOST_ASKED;
  }

  /** The note about keys that the answer to the ticket lacks: a retry asks with the ticket first. Parameters as `note`. */
  lackingNote(id: string, at: number | null = null): PartNote {
    return { ...this.note(id, at), asked: MOST_ASKED + 1 };
  }

  /** The same for one key, as text; undefined without a ticket. */
  lackingText(id: string, key: string): string | undefined {
    return this.#ticket === null ? undefined : writeNote(this.lackingNote(id, this.keys.indexOf(key)));
  }

  /** The ledger's note about a key of this part. @param id its Idempotency-Key @param at the key's index; null: about the part */
  note(id: string, at: number | null = null): PartNote {
    const place = at === null || !this.isShared ? null : (this.places?.[at] ?? at);
    return {
      id,
      size: this.size,
      asked: this.asked,
      ticket: this.#ticket,
      promisedAt: this.#promisedAt,
      charged: this.#charged,
      at: place,
      members: null,
    };
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
