/**
 * The families of wordings: meaning, pattern of concepts (`vocabulary.ts`), a wording that it reads, and the source of that. Pure data.
 *
 * `a/b` is either concept. `..` stands for up to eight other words, `.` for up to two, `...` for any. The first two never pass over words
 * about the sender, a machine, a policy or a message. A pattern is sought within one clause, and `^` and `$` are its ends. `only` says that
 * the text has no other clause, and `!` that the concept does not follow.
 */
export const FAMILIES = `
full | who .. full | mailbox is full | cyrus
full | full . who | full mailbox | sisimai
full | quota . full | recipient storage full | postfix
full | over . quota | exceeded storage allocation | dovecot
full | quota . over | quota exceeded | dovecot
full | quota limit . over | storage limit exceeded | sisimai
full | who .. over . quota | user is over quota | dovecot
full | who .. over . limit !message | mailbox has exceeded the limit | sisimai
full | who . quota/limit . over | mailbox limit exceeded | kumomta
full | who . quota/limit limit . over | mailbox size limit exceeded | sisimai
full | over . limit . box | przekroczono limit skrzynki | interia.pl
full | over . who . limit/quota | over the maximum allowed mailbox size | qmail
full | who . quota limit | account storage limit | godaddy
full | who over $ | user has exceeded | sisimai
full | ^ quota quota $ | diskspace quota | vpopmail
full | not . quota | Brak miejsca na koncie | interia.pl

us | policy | blocked by our spam policy | spamhaus
us | temporary | try again later | postfix
us | ^ !check ... retry | try again | postfix
us | machine . rejected/denied/blocked !who | destination server rejected the message | exim
us | ^ !who !gone ... denied/blocked | blocked, access denied | zone-mta
us | sender ... found/known | your IP address is listed | zone-mta
us | limit/quota .. not/unknown | limit for recipient not known | own words
us | over . limit | user over limit of received mails | postfix
us | limit . over | line limit exceeded | exchange
us | sender/client ... denied/blocked/rejected/not/unknown/over/gone/expired/deleted | sender address rejected | postfix
us | denied/blocked/rejected/not/unknown/over/gone/expired ... sender | refused mail from your host | postfix
us | ^ !who ... denied/blocked/rejected/not/unknown/over ... client | unknown client | postfix
us | exists/found/known/unknown/available ... denied/blocked | mailbox not found or access denied | email issues
us | denied/blocked ... exists/found/known/unknown | access denied for unknown user | own words
us | your . who/email | your address is not known here | exim
us | machine . not . exists/found/known !who | domain not found | postfix
us | machine . unknown !who | host unknown | sendmail
us | unknown . machine | invalid domain | sendmail
us | not . machine | no such domain | sendmail

no_mailbox | who .. not . exists/found/known | the user does not exist | sendmail
no_mailbox | who .. not . who | the recipient is not a user of this server | coremail
no_mailbox | who .. exists/found/known not | das Postfach existiert nicht | web.de
no_mailbox | who .. unknown | user unknown | sendmail
no_mailbox | unknown . who | invalid recipient | exchange
no_mailbox | not . exists/found/known .. who | not a valid mailbox | exim
no_mailbox | exists not . who | no existe ese usuario | terra
no_mailbox | exists/known not who | existiert nicht das Konto | own words
no_mailbox | not have . who | this user doesn't have a yahoo.com account | yahoo
no_mailbox | who not have $ | This user doesn't have | zone-mta
no_mailbox | rcpt . not exists | RCPT does not exist | safe-mail.net
no_mailbox | who absent $ | такого пользователя нет | mail.ru
no_mailbox | absent . who | нет такого ящика | mail.ru
no_mailbox | not who | no such user here | sendmail
no_mailbox | who .. no longer . exists/known | this address no longer exists | sendmail
no_mailbox | ^ . no longer exists/known | is no longer valid | yahoo
no_mailbox | email not . exists/found | this e-mail does not exist | yahoo
no_mailbox | email .. unknown $ | e-mail unknown | sisimai
no_mailbox | not . exists/found/known . directory | not listed in Domino Directory | domino
no_mailbox | directory . exists/found/known not | Domino ディレクトリには見つかりません | domino
no_mailbox | not preposition directory | the user is not in our directory | domino
no_mailbox | not . exists/found/known place | not known at this site | sendmail
no_mailbox | unknown place | unknown at this host | typo3 t3m
no_mailbox | who .. not place | the user is not here | own words
no_mailbox | only not found | not found | sisimai

mailbox_disabled | who .. gone/expired | account has been disabled | yahoo
mailbox_disabled | box . blocked $ | Le compte du destinataire est bloque | orange.fr
mailbox_disabled | who .. deleted | account deleted | own words
mailbox_disabled | gone/expired . who | inactive user | sisimai
mailbox_disabled | who .. not . active | user is not active | sisimai
mailbox_disabled | not . active . who | not an active address | sisimai
mailbox_disabled | who .. no longer . active/receives/delivered !your mail | address no longer in use | qmail
mailbox_disabled | who .. no longer $ | recipient no longer on server | sisimai
mailbox_disabled | who .. no longer place | user no longer here | own words
mailbox_disabled | only gone | has been suspended | sisimai
mailbox_disabled | only gone place | is now disabled with SMTP service | 21cn

unavailable | who .. not available | mailbox unavailable | rfc 5321
unavailable | not available . who | unavailable mail user | coremail
unavailable | not available | not available | interia.pl

hint | denied/blocked | recipient denied | kumomta
hint | sender/client | client 1.2.3.4 | postfix
`;
