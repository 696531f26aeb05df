/** The parts of a verify request: halves of one that failed, and addresses that an answer left out. Pure. */
import type { AddressGroup } from './address-queue.ts';

/** The ledger's note about an address without an answer: the part of a request that asks for it. */
export interface PartNote {
  /** Names the part. */
  readonly id: string;
  /** Addresses in the part. */
  readonly size: number;
  /** How often each of them has been asked for, this time included. */
  readonly asked: number;
}

export function writeNote({ id, size, asked }: PartNote): string {
  return JSON.stringify([id, size, asked]);
}

export function readNote(text: string): PartNote {
  const [id, size, asked] = JSON.parse(text) as [string, number, number];
  return { id, size, asked };
}

/**
 * The addresses of one request. A split request leaves parts behind. Once one of them has an answer in the ledger, the ledger must also
 * name the other parts. A resume would otherwise fill them up and use another Idempotency-Key.
 */
export class RequestPart {
  readonly emails: readonly string[];
  /** How often each of them has been asked for, this time included. */
  readonly asked: number;
  /** Its place in the queue; null for a part of a request. */
  readonly group: AddressGroup | null;
  /** Parts of the same request that are not settled. */
  readonly #open: Set<RequestPart>;
  #isKept: boolean;
  #isNoted: boolean;

  private constructor(
    emails: readonly string[],
    asked: number,
    {
      group = null,
      open = new Set(),
      isKept = false,
      isNoted = false,
    }: { group?: AddressGroup | null; open?: Set<RequestPart>; isKept?: boolean; isNoted?: boolean },
  ) {
    this.emails = emails;
    this.asked = asked;
    this.group = group;
    this.#open = open;
    this.#isKept = isKept;
    this.#isNoted = isNoted;
    open.add(this);
  }

  /** A request as the queue fills it. */
  static whole(group: AddressGroup): RequestPart {
    return new RequestPart(group.emails, 1, { group });
  }

  /** A part that the run before left behind. */
  static ofNote({ asked }: PartNote, emails: readonly string[]): RequestPart {
    return new RequestPart(emails, asked, { isKept: true, isNoted: true });
  }

  /** Whether the ledger has entries of its addresses. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** The request as a whole has ended. */
  settle(): void {
    this.#open.delete(this);
  }

  /** Replaces this part, which is settled by that. */
  split(parts: readonly (readonly string[])[], asked: number): RequestPart[] {
    this.settle();
    return parts.map((emails) => new RequestPart(emails, asked, { open: this.#open, isKept: this.#isKept }));
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
