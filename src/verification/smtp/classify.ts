/** Classifies a reply to RCPT: what it says about a mailbox. Pure. */
import type { Reply } from './reply.ts';
import { spokenWords } from './reply-words.ts';
import { plainWords, subjectOf } from './wordings.ts';

/**
 * `no_mailbox`, `mailbox_disabled`: mail bounces. `mailbox_full`: mail bounces for now. `cannot_verify`: the server does not tell (252).
 * `policy_rejected`: the reply is about the client, not the mailbox. `try_later`: 4xx. `rejected`: refused for an unknown reason.
 */
export type RcptMeaning =
  | 'accepted'
  | 'no_mailbox'
  | 'mailbox_disabled'
  | 'mailbox_full'
  | 'cannot_verify'
  | 'policy_rejected'
  | 'try_later'
  | 'rejected';

/** False for codes about the command or the login (RFC 5321 4.2.3, RFC 4954 4.7). Servers use all others for an unknown mailbox. */
const namesRecipient = (code: number): boolean => code >= 500 && code !== 502 && code !== 503 && !(code >= 530 && code < 540);

/** An enhanced code about the client anywhere in a reply line: `#5.7.1`, `(5.7.17)`. */
const ABOUT_US = /(?<![\d.])5\.7\.\d{1,3}(?!\.?\d)/;

const TOO_MANY = /too many(?! messages)/;

/** Longer texts are cut. The work for a text grows faster than its length. */
const MAX_READ = 1_000;

/**
 * True for a reply "too many recipients": 452, or 552 from older servers (RFC 5321 4.5.3.1.10), or the enhanced code x.5.3 (RFC 3463).
 * The rest may go into the next transaction.
 */
export function isTooMany({ code, enhanced, lines }: Reply): boolean {
  if (code < 400) return false;
  if (enhanced !== null && /^[45]\.5\.3$/.test(enhanced)) return true;
  return (code === 452 || code === 552) && (enhanced === null || enhanced.endsWith('.0')) && TOO_MANY.test(plainWords(lines.join(' ')));
}

/**
 * The enhanced code outranks the text, with one exception: words about us or about a full mailbox outweigh 5.1.1, 5.1.6 and 5.2.1,
 * because servers give these to living mailboxes. Other text rules come last.
 */
export function classifyRcpt(reply: Reply): RcptMeaning {
  const { code } = reply;
  if (code === 252) return 'cannot_verify';
  // RFC 5321 4.3.2 allows no other 2xx code for RCPT. 220 or 221 says nothing about the mailbox.
  if (code === 250 || code === 251) return 'accepted';
  if (code < 400) return 'rejected';
  if (code >= 500 && reply.lines.some((line) => ABOUT_US.test(spokenWords(line)))) return 'policy_rejected';
  if (isTooMany(reply)) return 'try_later';
  const text = reply.lines.join(' ').slice(0, MAX_READ);
  const enhanced = reply.enhanced === null ? null : byEnhancedCode(code, reply.enhanced, text);
  if (enhanced !== null) return enhanced;
  return code < 500 ? 'try_later' : byText(code, text);
}

/** Null when the enhanced code is too general to decide. */
function byEnhancedCode(code: number, enhanced: string, text: string): RcptMeaning | null {
  const [kind, subject, detail] = enhanced.split('.').map(Number);
  if (subject === 2 && detail === 2) return 'mailbox_full';
  // When code and enhanced code disagree, the less certain one wins.
  if (code < 500 || kind === 4) return 'try_later';
  if (kind !== 5) return 'rejected';
  if (subject === 7) return 'policy_rejected';
  // RFC 7505 4.2, and Exchange's code for an unknown recipient, whose text speaks of an address lookup.
  if (subject === 1 && detail === 10) return 'no_mailbox';
  if (subject === 1 && (detail === 1 || detail === 6)) return unlessWordsOutweigh(text, 'no_mailbox');
  if (subject === 2 && detail === 1) return unlessWordsOutweigh(text, 'mailbox_disabled');
  // RFC 3463 3.2: 7 and 8 are about the sender.
  const isGeneral = detail === 0 || (subject === 1 && detail !== 7 && detail !== 8);
  return isGeneral ? null : 'rejected';
}

function unlessWordsOutweigh(text: string, meaning: RcptMeaning): RcptMeaning {
  const subject = subjectOf(text);
  if (subject === 'full') return 'mailbox_full';
  if (subject === 'us' || subject === 'hint') return 'policy_rejected';
  return subject === 'unavailable' && meaning === 'mailbox_disabled' ? 'rejected' : meaning;
}

function byText(code: number, text: string): RcptMeaning {
  const subject = subjectOf(text);
  if (subject === 'us' || subject === 'hint') return 'policy_rejected';
  // RFC 5321 4.2.3: 552 is for storage that is used up; a mailbox that is not found has another text.
  if (subject === 'full' || (code === 552 && subject === null)) return 'mailbox_full';
  return subject === null || subject === 'unavailable' || !namesRecipient(code) ? 'rejected' : subject;
}

/** Tokens that change from reply to reply: numbers, identifiers and host names. */
const VARIABLE = /\S*[\d@/]\S*|\S+\.\S+/g;

/**
 * The form of a refusal: its codes and words without the recipient, numbers, identifiers and host names. Two refusals of one form by
 * one server say the same thing.
 * @param recipient the address that was asked about
 */
export function refusalForm({ code, enhanced, text }: Pick<Reply, 'code' | 'enhanced' | 'text'>, recipient: string): string {
  const local = recipient.slice(0, recipient.lastIndexOf('@'));
  const words =
    spokenWords(text)
      .replaceAll(local, ' ')
      .replaceAll(VARIABLE, ' ')
      .toLowerCase()
      .match(/\p{L}+/gu) ?? [];
  return [code, enhanced ?? '', ...words].join(' ');
}
