/**
 * The answer to one lookup. `text` of a hit is the answer's JSON. With an unsettled answer, a second line may name the group that polls for
 * it.
 */
export type LedgerAnswer =
  | { readonly kind: 'hit'; readonly text: string }
  | { readonly kind: 'miss' }
  | { readonly kind: 'suppressed' }
  /** An `unknown` verdict: valid for this run, asked again by later ones. */
  | { readonly kind: 'unsettled'; readonly text: string }
  | { readonly kind: 'failed'; readonly code: string; readonly attempts: number; readonly requestId: string | null }
  /** No answer yet. `text` names the request with which this run asks again after a crash. */
  | { readonly kind: 'asking'; readonly text: string };

/** Numbered by position in the file. Only append to this list. */
const KINDS = ['hit', 'miss', 'suppressed', 'unsettled', 'failed', 'asking'] as const;

export type AnswerKind = (typeof KINDS)[number];

/** The kind with this number in the file. */
export function kindName(kind: number): AnswerKind {
  const name = KINDS[kind];
  if (name === undefined) throw new Error(`unknown kind of answer ${kind}`);
  return name;
}

export function encodeAnswer(answer: LedgerAnswer): { kind: number; body: string } {
  const kind = KINDS.indexOf(answer.kind);
  if ('text' in answer) return { kind, body: answer.text };
  return { kind, body: answer.kind === 'failed' ? JSON.stringify([answer.code, answer.attempts, answer.requestId]) : '' };
}

export function decodeAnswer(kind: number, body: string): LedgerAnswer {
  const name = kindName(kind);
  switch (name) {
    case 'hit':
    case 'unsettled':
    case 'asking':
      return { kind: name, text: body };
    case 'miss':
    case 'suppressed':
      return { kind: name };
    case 'failed': {
      const [code, attempts, requestId] = JSON.parse(body) as [string, number, string | null];
      return { kind: 'failed', code, attempts, requestId };
    }
    default:
      return name satisfies never;
  }
}
