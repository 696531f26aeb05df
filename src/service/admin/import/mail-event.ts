/** A mail's delivery event, as evidence about its mailbox. Pure. */
import { classifyRcpt } from '../../../verification/smtp/classify.ts';
import type { Reply } from '../../../verification/smtp/reply.ts';
import { timeOf } from '../../records/field-types.ts';
import type { MailEvent } from '../../store/rows/delivery-writer.ts';
import { isBlank } from '../../records/empty-words.ts';
import type { Rejection } from './import-counts.ts';
import type { MappedRow } from './map-row.ts';

type Word = 'delivered' | 'bounced' | 'hard' | 'soft' | 'other';

/** Event names of mail services, in lower case and letters only. An opened mail was delivered; a dropped one proves nothing. */
const WORDS: Readonly<Record<Word, readonly string[]>> = {
  delivered: ['delivered', 'delivery', 'opened', 'open', 'clicked', 'click'],
  bounced: ['bounced', 'bounce', 'failed', 'failure', 'undelivered', 'undeliverable'],
  hard: ['hard', 'hardbounce', 'hardbounced', 'permanent', 'permanentbounce', 'permanentfail', 'permanentfailure'],
  soft: [
    'soft',
    'softbounce',
    'softbounced',
    'transient',
    'temporary',
    'temporaryfail',
    'temporaryfailure',
    'deferred',
    'deferral',
    'delayed',
    'deliverydelay',
    'blocked',
    'block',
  ],
  other: [
    'sent',
    'send',
    'processed',
    'queued',
    'accepted',
    'dropped',
    'rejected',
    'reject',
    'suppressed',
    'complained',
    'complaint',
    'spamreport',
    'spamcomplaint',
    'unsubscribed',
    'unsubscribe',
    'subscriptionchange',
  ],
};
const MEANINGS: ReadonlyMap<string, Word> = new Map(
  (Object.keys(WORDS) as Word[]).flatMap((word) => WORDS[word].map((name) => [name, word])),
);

const CODE = /^[2-5]\d\d$/;
/** RFC 3463. */
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3}$/;
/** `smtp; 550-5.1.1 no such user` as in RFC 3464 2.3.6, with or without the first word. */
const DIAGNOSTIC = /^(?:smtp;\s*)?([2-5]\d\d)?(?:^|[\s-]+|$)(?:#?([245]\.\d{1,3}\.\d{1,3})\b)?\s*(.*)$/is;
const MAX_TEXT = 500;
/** A refusal that is known only by its words. The code 550 may have any reason. */
const refusalOf = (text: string): Reply => ({ code: 550, enhanced: null, text, lines: [text] });

type Refusal = Pick<Rejection, 'code' | 'detail'>;

/**
 * Returns null when the row proves nothing about the mailbox, such as a soft bounce or a refusal of the sender. The verifier's rules
 * classify the mail server's reply. Where reply and event disagree, the weaker claim wins.
 * @param asOfMs the time of rows without a time, epoch milliseconds; null refuses such rows
 */
export function mailEventOf({ values }: MappedRow, asOfMs: number | null): MailEvent | Refusal | null {
  const kind = kindOf(values);
  if (kind === null || typeof kind === 'object') return kind;
  const atMs = isBlank(values['at']) ? asOfMs : momentOf(values['at']);
  if (atMs === null)
    return {
      code: 'bad_time',
      detail:
        'a delivery needs to say of when it is, as 2026-01-31, 2026-01-31T12:00:00Z ' +
        'or seconds since 1970; or say --as-of DAY for those that do not',
    };
  return { email: values['email'], kind, atMs };
}

function kindOf(values: MappedRow['values']): MailEvent['kind'] | Refusal | null {
  const reply = replyOf(values);
  const texts = ['event', 'status', 'bounce_type']
    .flatMap((target) => textsOf(values[target]))
    .filter((text) => !CODE.test(text) && !ENHANCED.test(text));
  const words = texts.flatMap((text) => meaningOf(text) ?? []);
  const [first] = words;
  if (first === undefined && (texts.length > 0 || reply === null)) {
    return {
      code: 'bad_event',
      detail:
        texts.length === 0
          ? 'nothing says what became of the mail: an event such as delivered or bounced, or the code of a reply'
          : `${JSON.stringify(texts[0]?.slice(0, 60))} is no event that is known here, such as delivered, bounced, hard or soft`,
    };
  }
  if (first === 'other') return null;
  const failed = reply !== null && reply.code >= 400;
  if (first === 'delivered' || (first === undefined && !failed)) return failed || reply?.code === 252 ? null : 'delivered';
  // An unknown type, such as a bounce for spam.
  const unclear = textsOf(values['bounce_type']).some((type) => meaningOf(type) === undefined);
  if (words.includes('soft') || unclear) return null;
  const refusal = reply ?? refusalOf(diagnosticOf(values));
  return isOfMailbox(refusal, words.includes('hard') || reply === null) ? 'bounced' : null;
}

/** Whether a refusal means that the mailbox does not exist. `trusted` decides when the reply gives no reason. */
function isOfMailbox(reply: Reply, trusted: boolean): boolean {
  const meaning = classifyRcpt(reply);
  if (meaning === 'no_mailbox' || meaning === 'mailbox_disabled') return true;
  return meaning === 'rejected' && reply.code >= 500 && (trusted || (reply.enhanced === null && reply.text === ''));
}

function meaningOf(text: string): Word | undefined {
  return MEANINGS.get(text.toLowerCase().replaceAll(/[^a-z]/g, ''));
}

function diagnosticOf(values: MappedRow['values']): string {
  return textsOf(values['diagnostic'])[0]?.slice(0, MAX_TEXT) ?? '';
}

/** The mail server's reply, joined from the columns that have parts of it; null when no column has a code. */
function replyOf(values: MappedRow['values']): Reply | null {
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

/** Epoch milliseconds; null when the text is not a time. */
function momentOf(value: unknown): number | null {
  const time = timeOf(value);
  return time === undefined ? null : Date.parse(time);
}
