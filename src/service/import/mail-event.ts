/** What a row says became of a mail, as evidence about the mailbox it was for. Pure. */
import { classifyRcpt } from '../../verification/smtp/classify.ts';
import type { Reply } from '../../verification/smtp/reply.ts';
import { timeOf } from '../field-types.ts';
import type { MailEvent } from '../store/delivery-writer.ts';
import { isEmpty } from '../values.ts';
import type { Rejection } from './counts.ts';
import type { RowValues } from './row-values.ts';

type Word = 'delivered' | 'bounced' | 'hard' | 'soft' | 'other';

/** As mail services call them, in lower case and letters alone. Whoever opened a mail has got it; what was dropped or complained about says nothing of the mailbox. */
const WORDS: Readonly<Record<Word, readonly string[]>> = {
  delivered: ['delivered', 'delivery', 'opened', 'open', 'clicked', 'click'],
  bounced: ['bounced', 'bounce', 'failed', 'failure', 'undelivered', 'undeliverable'],
  hard: ['hard', 'hardbounce', 'hardbounced', 'permanent', 'permanentbounce', 'permanentfail', 'permanentfailure'],
  soft: ['soft', 'softbounce', 'softbounced', 'transient', 'temporary', 'temporaryfail', 'temporaryfailure', 'deferred', 'deferral', 'delayed', 'deliverydelay', 'blocked', 'block'],
  other: ['sent', 'send', 'processed', 'queued', 'accepted', 'dropped', 'rejected', 'reject', 'suppressed', 'complained', 'complaint', 'spamreport', 'spamcomplaint', 'unsubscribed', 'unsubscribe', 'subscriptionchange'],
};
const MEANINGS: ReadonlyMap<string, Word> = new Map((Object.keys(WORDS) as Word[]).flatMap((word) => WORDS[word].map((name) => [name, word])));

const CODE = /^[2-5]\d\d$/;
/** RFC 3463. */
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3}$/;
/** `smtp; 550-5.1.1 no such user`, as RFC 3464 2.3.6 has it, with or without its first word. */
const DIAGNOSTIC = /^(?:smtp;\s*)?([2-5]\d\d)?(?:^|[\s-]+|$)(?:#?([245]\.\d{1,3}\.\d{1,3})\b)?\s*(.*)$/is;
const MAX_TEXT = 500;
/** Stands for a refusal of which only words are known: whatever may be the reason may be theirs. */
const NO_CODE: Reply = { code: 550, enhanced: null, text: '', lines: [] };

/** Seconds since 1970, with decimals or without, or milliseconds: what mail services write for times. */
const EPOCH = /^\d{9,10}(?:\.\d+)?$|^\d{12,13}$/;
const LEAST_EPOCH_MS = 1e11;

type Refusal = Pick<Rejection, 'code' | 'detail'>;

/**
 * Null: the row says nothing of the mailbox, such as a soft bounce or a refusal of the sender. Where the row has the mail server's
 * reply, it is read by the rules that the verifier has for replies; where reply and event disagree, the one that claims less holds.
 * @param asOfMs of when a row is that does not say so; null: it must. Epoch milliseconds.
 */
export function mailEventOf({ values }: RowValues, asOfMs: number | null): MailEvent | Refusal | null {
  const kind = kindOf(values);
  if (kind === null || typeof kind === 'object') return kind;
  const atMs = isEmpty(values['at']) ? asOfMs : momentOf(values['at']);
  if (atMs === null) return { code: 'bad_time', detail: 'a delivery needs to say of when it is, as 2026-01-31, 2026-01-31T12:00:00Z or seconds since 1970; or say --as-of DAY for those that do not' };
  return { email: values['email'], kind, atMs };
}

function kindOf(values: RowValues['values']): MailEvent['kind'] | Refusal | null {
  const reply = replyOf(values);
  const said = ['event', 'status', 'bounce_type'].flatMap((target) => textsOf(values[target])).filter((text) => !CODE.test(text) && !ENHANCED.test(text));
  const words = said.flatMap((text) => meaningOf(text) ?? []);
  const [first] = words;
  if (first === undefined && (said.length > 0 || reply === null)) {
    return { code: 'bad_event', detail: said.length === 0 ? 'nothing says what became of the mail: an event such as delivered or bounced, or the code of a reply' : `${JSON.stringify(said[0]?.slice(0, 60))} is no event that is known here, such as delivered, bounced, hard or soft` };
  }
  if (first === 'other') return null;
  const failed = reply !== null && reply.code >= 400;
  if (first === 'delivered' || (first === undefined && !failed)) return failed || reply?.code === 252 ? null : 'delivered';
  // Of a type that is not known, such as a bounce for spam.
  const unclear = textsOf(values['bounce_type']).some((type) => meaningOf(type) === undefined);
  if (words.includes('soft') || unclear) return null;
  const refusal = reply ?? { ...NO_CODE, text: diagnosticOf(values) };
  return isOfMailbox(refusal, words.includes('hard') || reply === null) ? 'bounced' : null;
}

/** Whether a refusal is about the mailbox for good. `trusted`: it is where the reply does not say why. */
function isOfMailbox(reply: Reply, trusted: boolean): boolean {
  const meaning = classifyRcpt(reply);
  if (meaning === 'no_mailbox' || meaning === 'mailbox_disabled') return true;
  return meaning === 'rejected' && reply.code >= 500 && (trusted || (reply.enhanced === null && reply.text === ''));
}

function meaningOf(text: string): Word | undefined {
  return MEANINGS.get(text.toLowerCase().replaceAll(/[^a-z]/g, ''));
}

function diagnosticOf(values: RowValues['values']): string {
  return textsOf(values['diagnostic'])[0]?.slice(0, MAX_TEXT) ?? '';
}

/** The mail server's reply, from whichever columns have a part of it; null when none has a code. */
function replyOf(values: RowValues['values']): Reply | null {
  const codes = ['smtp_code', 'enhanced_code', 'status'].flatMap((target) => textsOf(values[target]));
  const [, itsCode, itsEnhanced, text = ''] = DIAGNOSTIC.exec(diagnosticOf(values)) ?? [];
  const enhanced = codes.find((code) => ENHANCED.test(code)) ?? itsEnhanced ?? null;
  const code = codes.find((one) => CODE.test(one)) ?? itsCode ?? (enhanced === null ? undefined : `${enhanced[0]}50`);
  return code === undefined ? null : { code: Number(code), enhanced, text, lines: [text] };
}

function textsOf(value: unknown): string[] {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : '';
  return text === '' ? [] : [text];
}

/** Epoch milliseconds; null when it is no time. */
function momentOf(value: unknown): number | null {
  const [text = ''] = textsOf(value);
  if (EPOCH.test(text)) return Math.round(Number(text) * (Number(text) >= LEAST_EPOCH_MS ? 1 : 1_000));
  const time = timeOf(text);
  return time === undefined ? null : Date.parse(time);
}
