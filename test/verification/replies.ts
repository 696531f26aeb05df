/** Real replies of mail servers from `fixtures/replies`, grouped by their true meaning. */
import { readFileSync } from 'node:fs';
import { classifyRcpt, type RcptMeaning } from '../../src/verification/smtp/classify.ts';
import { ReplyReader } from '../../src/verification/smtp/reply.ts';

/** `living`: the mailbox exists. `disabled` counts as dead, because mail to it bounces for good. */
export const FAMILIES = ['living', 'full', 'dead', 'disabled'] as const;
export type Family = (typeof FAMILIES)[number];

/** `unseen`: replies that were put aside before the rules were written. */
export const COLLECTIONS = ['seen', 'unseen'] as const;
export type Collection = (typeof COLLECTIONS)[number];

export interface RealReply {
  /** A row of `fixtures/replies/sources.tsv`. */
  readonly source: string;
  /** The language of the words, as in ISO 639-1. */
  readonly language: string;
  readonly text: string;
}

const REPLIES = new URL('../../fixtures/replies/', import.meta.url);

function rowsOf(file: string): string[][] {
  const lines = readFileSync(new URL(file, REPLIES), 'utf8').trimEnd().split('\n');
  return lines.map((line) => line.split('\t'));
}

export const SOURCES = rowsOf('sources.tsv').slice(1);

/** Our own wordings: the meaning (`dead`, `full`, `living`) and the reply. */
export const OWN_WORDS = rowsOf('own-words.tsv');

export function repliesOf(family: Family, collection: Collection): RealReply[] {
  const rows = rowsOf(collection === 'seen' ? `${family}.tsv` : `unseen/${family}.tsv`);
  return rows.map(([source = '', language = '', text = '']) => ({ source, language, text }));
}

/** @param bytes the line without its end; the fourth character is replaced, so that the line ends the reply */
export function meaningOfBytes(bytes: Buffer): RcptMeaning {
  const [reply] = new ReplyReader().push(Buffer.concat([bytes.subarray(0, 3), Buffer.from(' '), bytes.subarray(4), Buffer.from('\r\n')]));
  if (reply === undefined) throw new Error(`no reply: ${bytes.toString()}`);
  return classifyRcpt(reply);
}

export function meaningOf(text: string): RcptMeaning {
  return meaningOfBytes(Buffer.from(text));
}

/** How the classifier reads replies. */
export interface ReadingCount {
  readonly replies: number;
  /** Replies that are read as a dead mailbox. */
  readonly calledDead: readonly string[];
  readonly calledFull: number;
}

export function countReadings(replies: readonly RealReply[]): ReadingCount {
  const texts = replies.map(({ text }) => text);
  const calledDead = texts.filter((text) => ['no_mailbox', 'mailbox_disabled'].includes(meaningOf(text)));
  return { replies: texts.length, calledDead, calledFull: texts.filter((text) => meaningOf(text) === 'mailbox_full').length };
}

/** The replies about mailboxes that are dead or disabled. */
export function deadReplies(collection: Collection): RealReply[] {
  return [...repliesOf('dead', collection), ...repliesOf('disabled', collection)];
}

/** The share of dead mailboxes that are called dead, 0 to 1. */
export function settledShare(replies: readonly RealReply[]): number {
  return countReadings(replies).calledDead.length / replies.length;
}
