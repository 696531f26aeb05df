/** What is known of one lookup. `text` of a hit is the answer's own JSON; where it is unsettled, a second line may say what is waited for. */
export type LedgerAnswer =
  | { readonly kind: 'hit'; readonly text: string }
  | { readonly kind: 'miss' }
  | { readonly kind: 'suppressed' }
  /** A verdict that says nothing (`unknown`): good for this run, asked again by later ones. */
  | { readonly kind: 'unsettled'; readonly text: string }
  | { readonly kind: 'failed'; readonly code: string; readonly attempts: number; readonly requestId: string | null }
  /** No answer yet. `text` says in which request the run that asks for it, and nobody else, asks for it again after a crash. */
  | { readonly kind: 'asking'; readonly text: string };

/** As they are numbered in the file: only ever added to. */
const KINDS = ['hit', 'miss', 'suppressed', 'unsettled', 'failed', 'asking'] as const;

export type AnswerKind = (typeof KINDS)[number];

/** The kind that a number in the file stands for. */
export function kindName(kind: number): AnswerKind {
  const name = KINDS[kind];
  if (name === undefined) throw new Error(`unknown kind of answer ${kind}`);
  return name;
}

export function encode(answer: LedgerAnswer): { kind: number; body: string } {
  const kind = KINDS.indexOf(answer.kind);
  if ('text' in answer) return { kind, body: answer.text };
  return { kind, body: answer.kind === 'failed' ? JSON.stringify([answer.code, answer.attempts, answer.requestId]) : '' };
}

export function decode(kind: number, body: string): LedgerAnswer {
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
