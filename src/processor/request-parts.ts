/** The parts of a verify request: halves of one that failed, and addresses that an answer left out. Pure. */
import type { Group } from './address-queue.ts';

/** What the ledger says of an address that has no answer yet: which part of a request asks for it. */
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
 * Addresses that are asked for in one request. A request that is split leaves parts behind. Once one of them has an answer in the
 * ledger, the ledger also has to say what the others are: a resume would otherwise fill them up, and ask under another key.
 */
export class RequestPart {
  readonly emails: readonly string[];
  /** How often each of them has been asked for, this time included. */
  readonly asked: number;
  /** Its place in the queue; null for a part of a request, which has none. */
  readonly group: Group | null;
  /** Parts of the same request that are not settled. */
  readonly #open: Set<RequestPart>;
  #isKept: boolean;
  #isNoted: boolean;

  private constructor(emails: readonly string[], asked: number, { group = null, open = new Set(), isKept = false, isNoted = false }: { group?: Group | null; open?: Set<RequestPart>; isKept?: boolean; isNoted?: boolean }) {
    this.emails = emails;
    this.asked = asked;
    this.group = group;
    this.#open = open;
    this.#isKept = isKept;
    this.#isNoted = isNoted;
    open.add(this);
  }

  /** A request as the queue fills it. */
  static whole(group: Group): RequestPart {
    return new RequestPart(group.emails, 1, { group });
  }

  /** A part that the run before left behind. */
  static ofNote({ asked }: PartNote, emails: readonly string[]): RequestPart {
    return new RequestPart(emails, asked, { isKept: true, isNoted: true });
  }

  /** Whether the ledger has something of its addresses. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Nothing more comes of the request as a whole. */
  settle(): void {
    this.#open.delete(this);
  }

  /** Takes the place of this part, which is settled by that. */
  split(parts: readonly (readonly string[])[], asked: number): RequestPart[] {
    this.settle();
    return parts.map((emails) => new RequestPart(emails, asked, { open: this.#open, isKept: this.#isKept }));
  }

  /** Open parts of the same request that the ledger does not know. To be put into the ledger: from now on they count as known. */
  takeUnnoted(): { readonly part: RequestPart; readonly again: boolean }[] {
    return [...this.#open].filter((part) => !part.#isNoted).map((part) => {
      const again = part.#isKept;
      part.#isKept = true;
      part.#isNoted = true;
      return { part, again };
    });
  }
}
