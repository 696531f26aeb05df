/** Real replies of mail servers from `fixtures/replies`, grouped by their true meaning. */
import { readFileSync } from 'node:fs';
import { classifyRcpt, type RcptMeaning } from '../../src/verification/smtp/classify.ts';
import { ReplyReader } from '../../src/verification/smtp/reply.ts';

/** `living`: the mailbox exists. `disabled` counts as dead, because mail to it bounces for good. */
export const FAMILIES = ['living', 'full', 'dead', 'disabled'] as const;
export type Family = (typeof FAMILIES)[number];

/** How the classifier reads the replies of one family. */
export interface FamilyCount {
  readonly replies: number;
  /** Replies that are read as a dead mailbox. */
  readonly calledDead: readonly string[];
  readonly calledFull: number;
}

export function repliesOf(family: Family): string[] {
  const lines = readFileSync(new URL(`../../fixtures/replies/${family}.tsv`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => line.slice(line.indexOf('\t') + 1));
}

export function meaningOf(text: string): RcptMeaning {
  const [reply] = new ReplyReader().push(Buffer.from(`${text.slice(0, 3)} ${text.slice(4)}\r\n`));
  if (reply === undefined) throw new Error(`no reply: ${text}`);
  return classifyRcpt(reply);
}

export function countFamily(family: Family): FamilyCount {
  const replies = repliesOf(family);
  const calledDead = replies.filter((text) => ['no_mailbox', 'mailbox_disabled'].includes(meaningOf(text)));
  return { replies: replies.length, calledDead, calledFull: replies.filter((text) => meaningOf(text) === 'mailbox_full').length };
}
