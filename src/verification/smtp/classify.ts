/** What a reply to RCPT says about a mailbox. Pure. */
import type { Reply } from './reply.ts';

/**
 * `no_mailbox`, `mailbox_disabled`: mail there bounces. `mailbox_full`: it bounces for now. `cannot_verify`: the server will not say (252).
 * `policy_rejected`: it says something about us, not about the mailbox. `try_later`: 4xx. `rejected`: no, and nobody knows why.
 */
export type RcptMeaning = 'accepted' | 'no_mailbox' | 'mailbox_disabled' | 'mailbox_full' | 'cannot_verify' | 'policy_rejected' | 'try_later' | 'rejected';

/** Bare codes that may mean that there is no such mailbox, if the words say so too (RFC 5321 4.2.3). */
const UNKNOWN_USER_CODES = [550, 551, 553];

const WHO = '(?:users?|mailbox(?:es)?|recipients?|accounts?|address(?:ee)?(?:es)?|alias|person|customer|name|destinat[aá]rio|usuario|utilisateur|empf[aä]nger|benutzer)';
const UNKNOWN_USER = new RegExp(
  [
    `no such (?:\\w+ )?(?:${WHO}|here)`,
    `(?:unknown|invalid|non-?existent|nonexistent|unrouteable|undeliverable|bad) (?:\\w+ ){0,2}${WHO}`,
    `${WHO} (?:\\S+ ){0,4}?(?:is |was |does |do |has )?(?:been )?(?:unknown|not (?:be )?found|not exist|invalid|not valid|not known|not listed|doesn'?t exist|nonexistent|inconnu|desconocido|unbekannt|inexistente)`,
    `(?:doesn'?t|does not|don'?t|do not) have (?:an? |any )?(?:\\w+ )?${WHO}`,
    `not our (?:${WHO})`,
    `no (?:\\w+ )?mailbox (?:here|by|with|of)`,
  ].join('|'),
  'i',
);
/** What is about us, the sender or the way: `address` and `name` alone may be anybody's. */
const POLICY = new RegExp(
  [
    'spam|block|black ?list|deny|denied|relay(?! recipient table)|reputation|\\bspf\\b|dkim|dmarc|polic|\\brbl\\b|dnsbl|not allowed|not permitted|prohibited|authenticat',
    '\\breverse\\b|\\brdns|\\bptr\\b|\\bhelo\\b|\\behlo\\b|unsolicited|refused to|banned|too many(?! messages in)|rate.?limit|verify|connect(?:ion|ing)|look-?up|time[ds]? ?out|\\bdns\\b|unreachable',
    'temporar|\\blater\\b|gr[ea]y.?list|host ?name|domain name|\\bclient|\\bips?\\b|\\bipv[46]\\b|remote (?:\\w+ )?(?:address|name)|password|credential|\\blog ?in\\b',
    'sender|originat|mail from|\\bfrom(?::| (?:address|header|field|domain))|(?:return|reply|bounce)[- ](?:path|address)|envelope(?! recipient)',
    '\\byour (?:e-?mail )?(?:ip|host|network|domain|server|account|address(?! book)|mailbox|name|user)',
  ].join('|'),
  'i',
);
/** Many servers repeat whom they were asked about: whatever words are in there mean nothing. */
const ADDRESS = /[^\s<>@]{1,64}@[^\s<>@]+/g;
/** Of a class that is about us, wherever in the reply servers put it: `#5.7.1`, `(5.7.17)`, in a line of several. */
const ABOUT_US = /(?<![\d.])5\.7\.\d{1,3}(?!\.?\d)/;
const DISABLED = new RegExp(`${WHO} (?:\\S+ ){0,6}?(?:disabled|deactivated|suspended|inactive|closed)|(?:disabled|deactivated|suspended|inactive) (?:\\w+ )?${WHO}`, 'i');
const FULL = /(?:mailbox|inbox|account|storage|quota)(?: \S+){0,4}? (?:full|exceeded)|over ?quota|quota exceeded|exceeded (?:\S+ ){0,3}quota/i;

const TOO_MANY = /too many(?! messages)/i;

/**
 * Whether a server has enough recipients for one message. RFC 5321 4.5.3.1.10 wants 452 for it, knows 552 from older servers, and has both mean that the next
 * transaction may bring the others; RFC 3463 has the detail 5.3.
 */
export function isTooMany({ code, enhanced, text }: Reply): boolean {
  if (code < 400) return false;
  if (enhanced !== null && /^[45]\.5\.3$/.test(enhanced)) return true;
  return (code === 452 || code === 552) && (enhanced === null || enhanced.endsWith('.0')) && TOO_MANY.test(text);
}

/** The enhanced code outranks the text; text rules come last, and words about us outrank words about the mailbox. */
export function classifyRcpt(reply: Reply): RcptMeaning {
  const { code } = reply;
  if (code === 252) return 'cannot_verify';
  // RFC 5321 4.3.2 has no others for RCPT: 220 or 221 in its place says nothing of the mailbox.
  if (code === 250 || code === 251) return 'accepted';
  if (code < 400) return 'rejected';
  if (code >= 500 && reply.lines.some((line) => ABOUT_US.test(line))) return 'policy_rejected';
  if (isTooMany(reply)) return 'try_later';
  const enhanced = reply.enhanced === null ? null : byEnhancedCode(code, reply.enhanced);
  if (enhanced !== null) return enhanced;
  if (code < 500) return 'try_later';
  return byText(code, reply.text.replaceAll(ADDRESS, '@'));
}

/** Null: the enhanced code is too general to say anything. */
function byEnhancedCode(code: number, enhanced: string): RcptMeaning | null {
  const [kind, subject, detail] = enhanced.split('.').map(Number);
  if (subject === 2 && detail === 2) return 'mailbox_full';
  // Where code and enhanced code disagree, the one that promises less wins.
  if (code < 500 || kind === 4) return 'try_later';
  if (kind !== 5) return 'rejected';
  if (subject === 7) return 'policy_rejected';
  // 5.1.10 is RFC 7505 4.2, and Exchange's word for an unknown recipient.
  if (subject === 1 && (detail === 1 || detail === 6 || detail === 10)) return 'no_mailbox';
  if (subject === 2 && detail === 1) return 'mailbox_disabled';
  return detail === 0 || (subject === 1 && detail === 2) ? null : 'rejected';
}

function byText(code: number, text: string): RcptMeaning {
  // RFC 5321 4.2.3: 552 is for storage that is used up, "try later" or not.
  if (code === 552) return FULL.test(text) || !POLICY.test(text) ? 'mailbox_full' : 'policy_rejected';
  if (POLICY.test(text)) return 'policy_rejected';
  if (FULL.test(text)) return 'mailbox_full';
  if (!UNKNOWN_USER_CODES.includes(code)) return 'rejected';
  if (UNKNOWN_USER.test(text)) return 'no_mailbox';
  return DISABLED.test(text) ? 'mailbox_disabled' : 'rejected';
}
