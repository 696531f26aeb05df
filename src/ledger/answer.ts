/**
 * The answer to one lookup. `text` of a hit is the answer's JSON. With an unsettled answer, a second line may name the group that polls for
 * it. `text` of a miss is the answer of a provider, from which its definition may read a record once it is corrected.
 */
export type LedgerAnswer =
  | (FromSample & { readonly kind: 'hit'; readonly text: string })
  | (FromSample & { readonly kind: 'miss'; readonly text?: string })
  | { readonly kind: 'suppressed' }
  /** An `unknown` verdict: valid for this run, asked again by later ones. */
  | (FromSample & { readonly kind: 'unsettled'; readonly text: string })
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly attempts: number;
      readonly requestId: string | null;
      /** The `text` of `asking`, with which a retry asks again: the request was paid for. */
      readonly note?: string;
    }
  /** No answer yet. `text` names the request with which this run asks again after a crash. */
  | { readonly kind: 'asking'; readonly text: string };

interface FromSample {
  /** The service served sample data: the answer says nothing about a real person. Left out otherwise. */
  readonly isSample?: true;
}

export function isFromSample(answer: LedgerAnswer): boolean {
  return 'isSample' in answer;
}

/** The answer, as one of a service with sample data. */
export function markedAsSample(answer: LedgerAnswer): LedgerAnswer {
  return answer.kind === 'hit' || answer.kind === 'miss' || answer.kind === 'unsettled' ? { ...answer, isSample: true } : answer;
}

/** Whether a run can use an answer that it found while it claimed the lookup. @param unfit see `RunLedger.ask` */
export function isFit(answer: LedgerAnswer, unfit: string | null): boolean {
  return unfit === null || !('text' in answer) || answer.text !== unfit;
}

/** Whether the `text` of `asking` has a ticket: a provider has promised the answer, and may have been paid for it. */
export function hasTicket(text: string): boolean {
  return typeof (JSON.parse(text) as readonly unknown[])[3] === 'string';
}

/** An open lookup with this note; null without one. */
export function asking(note: string | null): LedgerAnswer | null {
  return note === null ? null : { kind: 'asking', text: note };
}

/** The note of an answer that is open, or failed while it was; null without one. */
export function noteOf(answer: LedgerAnswer): string | null {
  if (answer.kind === 'asking') return answer.text;
  return answer.kind === 'failed' ? (answer.note ?? null) : null;
}

/** The same, if it has the ticket of a promise. */
export function ticketNoteOf(answer: LedgerAnswer): string | null {
  const note = noteOf(answer);
  return note !== null && hasTicket(note) ? note : null;
}

/** Numbered by position in the file. Only append to this list. */
const KINDS = ['hit', 'miss', 'suppressed', 'unsettled', 'failed', 'asking'] as const;

export type AnswerKind = (typeof KINDS)[number];

/** Added to the number of a kind for an answer from sample data. */
const SAMPLE = 16;

/** The kind with this number in the file. */
export function kindName(kind: number): AnswerKind {
  const name = KINDS[kind % SAMPLE];
  if (name === undefined) throw new Error(`unknown kind of answer ${kind}`);
  return name;
}

export function encodeAnswer(answer: LedgerAnswer): { kind: number; body: string } {
  const kind = KINDS.indexOf(answer.kind) + (isFromSample(answer) ? SAMPLE : 0);
  if ('text' in answer) return { kind, body: answer.text ?? '' };
  if (answer.kind !== 'failed') return { kind, body: '' };
  const { code, attempts, requestId, note } = answer;
  return { kind, body: JSON.stringify(note === undefined ? [code, attempts, requestId] : [code, attempts, requestId, note]) };
}

export function decodeAnswer(kind: number, body: string): LedgerAnswer {
  const answer = decodeKind(kindName(kind), body);
  return kind < SAMPLE ? answer : markedAsSample(answer);
}

function decodeKind(name: AnswerKind, body: string): LedgerAnswer {
  switch (name) {
    case 'hit':
    case 'unsettled':
    case 'asking':
      return { kind: name, text: body };
    // Older versions kept no text of a miss.
    case 'miss':
      return body === '' ? { kind: name } : { kind: name, text: body };
    case 'suppressed':
      return { kind: name };
    case 'failed': {
      const [code, attempts, requestId, note] = JSON.parse(body) as [string, number, string | null, string?];
      return { kind: 'failed', code, attempts, requestId, ...(note === undefined ? {} : { note }) };
    }
    default:
      return name satisfies never;
  }
}
