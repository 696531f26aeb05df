/**
 * Classifies the text of a refusal. The words come from public collections of replies (`fixtures/replies`), in English, German,
 * French, Spanish, Portuguese, Italian, Dutch, Polish, Russian and Chinese. Pure.
 */

/**
 * The subject of a text. `us`: policy, reputation, rate, the sender, the message, the server, or a temporary state. null for unknown
 * wording.
 */
type Subject = 'us' | 'full' | 'disabled' | 'unknown_user' | null;

/** Servers repeat addresses and print links. Words in these mean nothing. */
const ADDRESS = /<?[^\s<>@]{1,64}@[^\s<>@]+>?/g;
const URL = /\b(?:https?:\/\/|www\.)\S+/gi;

const anyOf = (...wordings: readonly string[]): RegExp => new RegExp(wordings.join('|'), 'i');

const WHO = `(?:${[
  'users?|e?-?mail ?box(?:es)?|recipients?|accounts?|(?:e-?mail )?address(?:ee)?(?:es)?|alias|person|customer|name|rcpt|local ?part',
  'destinat[aá]rio|destinataire|usu[aá]rio|utilisateur|utente|adresse|empf(?:ae|[aä])nger|benutzer|konto|odbiorca|gebruiker',
].join('|')})`;

const UNKNOWN_USER = anyOf(
  `no such (?:\\w+ )?(?:${WHO}|here|id\\b)`,
  `(?:unknown|invalid|illegal|non-?existent|unrouteable|unroutable|undeliverable|bad|inconnu|unbekannter?) (?:\\w+ ){0,2}${WHO}`,
  `${WHO}['"]? (?:\\S+ ){0,4}?(?:is |was |has |could |does |do )?(?:been )?${[
    '(?:unknown|unrecognized|not? (?:be )?found|not exist|not present|invalide?|not valid|not known|not listed',
    "does ?n'?t exist|dosn'?t exist|nonexistent)",
  ].join('|')}`,
  `${WHO} (?:\\S+ ){0,2}?${[
    '(?:inconnue?|desconoc?ido|desconhecido|nicht bekannt|unbekannt|ine[sx]istente|sconosciuto|onbekend|nie istnieje|bestaat niet',
    'existiert nicht|no existe|n[aã]o existe)',
  ].join('|')}`,
  `(?:doesn'?t|does not|don'?t|do not) have (?:an? |any )?(?:\\S+ )?${WHO}`,
  `is not (?:a|an) (?:known|valid|active) ${WHO}|not a (?:known|valid) ${WHO}|not (?:our|a local) (?:${WHO})`,
  'no (?:\\w+ )?mail-? ?box (?:here|by|with|of|found|available)|sorry,? no mail-?box|no account by that name|no one at this address',
  'not in my validrcptto list|badrcptto|bad_?recipient|user ?unknown|@:? (?:was |is )?not found|no @ in',
  'account that you tried to reach does not exist|no existe (?:dicha persona|ese usuario)|nessun utente|не найден|не существует|不存在',
);

const ABOUT_US = anyOf(
  // Reputation and policy.
  'spam|block|black ?list|\\blist(?:ed|ing) (?:at|by|in|on)|deny|denied|' +
    'reputation|polic|\\brbl\\b|dns[bw]l|surbl|uribl|junk|virus|abuse|security',
  'not (?:allowed|permitted|authori[sz]ed)|unauthori[sz]ed|prohibited|' +
    'unsolicited|refused to|banned|restrict|captcha|confirm this|bulk|mass mail',
  // Rates and moments.
  '\\brates?\\b|rate.?limit|(?:too|so) (?:many|much)(?! (?:messages|mails) (?:in|on))|' +
    'too (?:fast|quickly)|exceeds?\\b|exceeded (?:the )?(?:max|sending)',
  'throttl|over (?:(?:its|the|their) )?limit|tropp[oi]|demasiad|zu viele|trop de',
  '(?:per|this) (?:hour|minute|day)|daily|temporar|tempor[aä]r|moment|' +
    '\\blater\\b|try again|gr[ea]y.?list|busy|deferred|delayed|retries|retrying',
  // The client and its authentication.
  'relay(?! recipient table)|\\breverse\\b|\\brdns|\\bptr\\b|\\b[eh][eh]lo\\b|' +
    'host ?name|\\bclient|\\bips?\\b|\\bipv[46]\\b|\\bisp\\b|gateway (?:for|user)|\\bproxy',
  '\\bspf\\b|dkim|dmarc|authenti[cf]|password|credential|\\blog ?in\\b|remote (?:\\w+ )?(?:address|name)|\\bidentit|\\btls\\b|starttls',
  '\\byour (?:e-?mail )?(?:ip|host|network|domain|server|account|address(?! book)|mailbox|name|user)',
  // The sender.
  'sender|originat|mail from|\\bfrom(?::| (?:address|header|field|domain))|' +
    '(?:return|reply|bounce)[- ](?:path|address)|envelope(?! recipient)',
  '(?:sender|callout|callback|could not|unable to|cannot|failed to) verif|' +
    'verif(?:y|ication)? (?:fail|error|required)|callout|backscatter|\\bbatv\\b',
  // The message.
  `\\bmessages? (?:${[
    'content|size|length|header|too|is\\b|was (?:rejected|bounced|refused)|' +
      'has|have|rejected|expi|filtered|loop|contain|must|given|bounced|of your',
  ].join('|')})`,
  '(?:message|delivery|queue)\\W+expi|size (?:limit|exceed|of)|too (?:big|large)|' +
    'content\\b|attachment|\\bheaders?\\b|\\bmime\\b|\\brfc\\b|\\bdata\\b',
  // The server and the way to it.
  'connect(?:ion|ing)?\\b|look-?up|time[ds]? ?out|\\bdns\\b|unreachable|protocol|' +
    '\\brouting|no route|to resolve|\\bmx records?|name ?server|domain name',
  'domain (?:\\S+ )?(?:does not exist|is a dead)|did not respond|sequence|' +
    'decode|\\bloop|\\bhops?\\b|forwarding loop|in the queue|queue period',
  '(?:system|internal|mailer|config\\w*|local|server|media) (?:configuration )?(?:error|problem)|misconfig|e?-?mail system\\b',
  // The recipient's own rules, which only a living mailbox has.
  'administrative|organi[sz]ational|preferences|subscribed|members?\\b|mailing list|does ?n.t want|by this user|user rules',
  // Other languages.
  'plus tard|m[aá]s tarde|sp[aä]ter|exp[eé]diteur|[eé]metteur|absender|remitente|mittente|nadawc',
  'gesperrt|bloqu|bloccat|zablokowan|abgelehnt|refus[eé]\\b|спам|блокир|отправител|отклон|позже|垃圾|频率|拒绝|黑名单|发件人',
);

const FULL = anyOf(
  '(?:mailbox|mailfolder|maildir|inbox|account|storage|quota)(?: \\S+){0,5}? (?:full|exceed(?:ed|s|ing)?)\\b|full mailbox',
  '(?:bo[iî]te|postfach|buz[oó]n|casilla|casella|caixa)(?: \\S+){0,5}? ' +
    '(?:pleine?|voll|[uü]e?berf[uü]e?llt|lleno|llena|piena|cheia|satur[eé]e?)(?![a-z])',
  'over ?quota|over (?:the |its |their )?(?:\\w+ )?quota|' +
    'quota (?:usage |limit )?(?:exceeded|violation)|exceed(?:ed|s|ing)? (?:\\S+ ){0,3}quota',
  '(?:exceeded|exhausted|exceed(?:s|ing)?) (?:\\S+ ){0,4}(?:storage|space|allocation)|' +
    'would exceed maximum allowed storage|dis[ck] ?(?:space)? ?quota',
  '(?:not (?:enough|sufficient)|insufficient|no|out of|have enough) (?:disk |storage )*space|' +
    'space has been used up|exceeded the local limit',
  'speichervolumen|speicherplatz|too many (?:messages|mails) (?:in|on)|zuviele mails|mailbox (?:size )?limit|quota (?:excedida|reached)',
  'storage (?:\\S+ )?(?:limit|exhausted)|mailbox (?:\\S+ )?over (?:its |the )?limit|przepe[lł]nion|переполн|已满|容量',
);

const STATE = `(?:${[
  'disabled|deactivated|suspended|inactive|closed|terminated|frozen|archived|discontinued|expired|not active|not activated',
  'no longer (?:valid|active|in use)',
].join('|')})`;
const DISABLED = anyOf(
  `${WHO} (?:\\S+ ){0,6}?${STATE}`,
  `${STATE}(?: (?:\\w+ )?|\\b.{0,3})${WHO}`,
  'no longer (?:accepts mail|on server)|archivee',
);

/** The text of a reply without the addresses and links in it. */
export function spokenWords(text: string): string {
  return text.replaceAll(URL, ' ').replaceAll(ADDRESS, '@');
}

/** Reads a text without addresses and links. A full mailbox is a living one, and words about us outrank words about the mailbox. */
export function subjectOf(words: string): Subject {
  if (FULL.test(words)) return 'full';
  if (ABOUT_US.test(words)) return 'us';
  if (UNKNOWN_USER.test(words)) return 'unknown_user';
  return DISABLED.test(words) ? 'disabled' : null;
}
