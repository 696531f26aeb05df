/**
 * The words of refusals that are about the client, the sender, the message or the moment. Columns as in `VOCABULARY`. Pure data.
 */
export const POLICY_VOCABULARY = `
policy | en | spam*, antispam, anti spam, unsolicited, bulk, mass mail*, junk*, virus*, malware, phish*, abus*, forge*, spoof* | spamhaus
policy | en | black list*, blacklist*, block list*, blocklist*, whitelist*, white list*, allow list*, deny list*, bypass list* | spamhaus
policy | en | graylist* | spamhaus
policy | en | rbl*, dnsbl*, dnswl, surbl, uribl, barracuda*, spamhaus*, sorbs, spamcop, cloudmark, reputation, complaint* | spamhaus
policy | en | greylist*, grey list* | spamhaus
policy | en | polic*, security, secur*, captcha, challenge, confirm this, confirmation, administrative prohibition | exchange
policy | en | organizational | exchange
policy | en | rate, rates, rate limit*, ratelimit*, throttl*, too many, too much, too fast, too quickly, so many, exces*, volume | gmail
policy | en | frequen* | gmail
policy | en | daily, per hour, per minute, per day, this hour, this minute, this day, within 24, sending limit*, exceeded the max* | gmail
policy | en | spf, dkim, dmarc, batv, domainkeys, arc, tls, starttls, ssl, certificate*, cert, encrypt*, signature*, ptr, rdns | rfc
policy | en | reverse, helo, ehlo | rfc
policy | en | authenti*, unauthenti*, password*, credential*, login, log in, logged in, logged, auth, sasl, token* | gmail
policy | en | backscatter, bounces, mailing list, members, member, non member, subscribed, group, preferences, user rules | mailman
policy | en | reject list | mailman
policy | en | content*, header*, mime, format*, subject, filter, filtered, filters, filtering, rule, rules, charset, encoding | exchange
policy | en | character | exchange
policy | en | too big, too large, too long, loop*, hop, hops, exceeded storage allocation for message, message size | exim
policy | en | size of message | exim
policy | en | mx, mx record*, dns, resolve, lookup*, look up, nameserver*, name server*, name service, name or service, no route | exim
policy | en | unreachable | exim
policy | en | timeout, timed out, time out, did not respond, protocol, sequence, decode, misconfig*, internal error, local error | postfix
policy | en | system error | postfix
policy | en | configuration error, mailer error, media error, syntax error, local problem, system problem, server error, queue | postfix
policy | en | does not want, doesn t want, don t want, by this user, unwanted, not welcome, refuses to accept, geoip | mimecast
policy | en | geographic*, geolocation, country | mimecast
policy | en | dialup, dial up | mimecast
policy | en | verification failed, verify failed, verification failure, status unknown, unknown status, external*, outside | exim
policy | en | unknown reason*, unknown error*, unknown problem*, unknown issue*, unknown cause, unknown failure, lost connection | postfix
sender | en | reply to, you sent mail, you sent to many | exim
temporary | en | by another process, another process | qmail
policy | en | attack*, harvest*, bad recipient list, invalid recipient list, creation, registration, forwarding | exim
policy | en | recipient count, number of recipients | exim
sender | en | server name*, service name*, machine name*, file name*, system name*, mail server name* | exim
policy | en | invalid forward*, bad forward*, forwarding loop*, executable, malformed, attachment*, expired message | exim
policy | en | message expired, delivery expired, guidelines | exim
policy | en | dynamic, permission*, privilege*, license*, third party, bogus, infected, url, link, links, blamed, sanction* | zone-mta
policy | de | werbung, schwarze liste, blacklist, sperrliste, richtlinie*, anmeldung, zu viele, zu oft, massenmail, abgewiesen wegen | gmx
policy | fr | abus, indesirable*, politique, liste noire, authentification, trop de, trop, taille limite | orange.fr
policy | es pt it | lista negra, lista nera, politica*, demasiad*, muitas, muitos, tropp*, autentica*, reputac*, listas negras | terra
policy | es pt it | indeseado* | terra
policy | pl cs nl | spamu, niechcian*, czarnej liscie, polityk*, zbyt wiele, antyspam*, limit wysyl*, te veel | interia.pl
policy | ru uk | спам*, черн, чёрн, чорн, чёрном, черном, списке, списк*, политик*, репутац*, слишком, массов*, вирус*, подозр* | mail.ru
policy | zh | 垃圾, 反垃圾, 频率, 頻率, 黑名单, 黑名單, 黑邮件, 病毒, 策略, 信誉, 验证, 驗證, 认证, 認證, 过多, 過多, 过于频繁, 环回, 大小, 附件 | qq, sina
policy | ja ko | 迷惑, 拒否リスト, スパム, 認証, ポリシー, 大量, 受信拒否, 스팸, 인증, 정책, 과다, 바이러스, 수신거부 | docomo, daum

sender | en | sender*, sending, originat*, mail from, mailfrom, message from, messages from, email from, mails from | postfix
sender | en | from address*, from header* | postfix
sender | en | from field, from domain, envelope from, return path, returnpath, reply path, bounce path, return address* | rfc
sender | en | bounce address*, reverse path | rfc
sender | en | outgoing, outbound, gateway user*, gateway for, a gateway, envelope, envelope address*, your email address* | exchange
sender | en | your email account* | exchange
sender | en | your e address | exchange
sender | en | from, envelope sender, null sender, null return, purported, responsible address | rfc
client | en | client*, relay, relays | postfix
sender | en | ip, ips, ip address*, ipv, isp, your ip, host name*, hostname*, domain name*, connect*, connection* | postfix
sender | en | relaying, relayed, relay access, relay host, mail relay, proxy, open relay | postfix
sender | en | callout, callback, identit*, remote address*, remote name, remote ip, peer, mta, smtp auth, session, command* | exim
sender | en | parameter*, argument* | exim
sender | en | you are, you re, you have, you must, you do not, you don t, you need, you may, you send, your host*, your network | exim
sender | en | your domain | exim
sender | en | your server, your name, your isp, your mailserver, your smtp, your mta, your access, your connection | exim
your | en | your | grammar
your | de fr es pt it pl | ihr, ihre, ihrem, ihren, votre, vos, su, sus, tu cuenta, seu, sua, seus, suas, tuo, tua, suo, twoj | grammar
your | de fr es pt it pl | twoje, twoja | grammar
your | ru uk zh ja ko | ваш, ваша, ваше, вашего, вашей, ваши, твой, 您的, 你的, あなたの, お客様の, 귀하의 | grammar
filler | en | you are trying, you re trying, you tried, you entered, you specified, you sent, you are sending | gmail
filler | en | in relay recipient table | gmail
filler | en | relay recipient table, this message was sent, ce message a ete envoye, in reply to rcpt to command | postfix
filler | en | in reply to rcpt, in reply to, no forwarding information, no forwarding address | postfix
filler | en | recipient verification failed, recipient verification, check your address book, sent to, rcpt to | exim
sender | de | absender*, versender*, einlieferer, ihre ip, ihr server, ihre adresse, ihr konto | gmx
sender | fr | expediteur*, emetteur*, votre adresse, votre serveur, votre domaine, votre ip, votre compte | orange.fr
sender | es pt it pl cs | remitent*, remetent*, emissor, su direccion, su servidor, seu ip, mittent*, nadawc*, odesilatel* | terra
sender | es pt it pl cs | dominio de origen | terra
sender | ru uk zh ja ko | отправител*, відправник*, 发件人, 發件人, 寄件人, 寄件者, 发信, 發信, 发送者, 发送, 發送, 送信者, 送信元, 差出人, 발신자, 발신, 보낸사람 | mail.ru, qq
sender | ru uk zh ja ko | 송신 | mail.ru, qq

blocked | en | block, blocks, blocked, blocking | postfix
denied | en | denied, deny, listed at, listed by, listed in zen, denies, banned, ban | postfix
denied | en | prohibit*, forbid*, restrict*, not allowed, not permitted | postfix
denied | en | has disabled, have disabled, has blocked, unauthori*, not authori*, no permit, refused to, disallowed, no relaying | postfix
denied | en | no access, isn t allowed, isn t permitted, access deny | postfix
blocked | de fr es pt it pl | gesperrt*, bloqu*, bloccat*, zablokowan* | web.de
denied | de fr es pt it pl | verboten, nicht erlaubt, interdit*, no permitid* | web.de
denied | de fr es pt it pl | nao permitid*, vietat* | web.de
blocked | ru zh ja ko | блокир* | qq
denied | ru zh ja ko | отклон*, запрещ*, 拒绝, 拒絕, 拒收, 禁止, 屏蔽, 不允许, 不允許, 拒否, 거부, 거절, 차단 | qq
rejected | en | rejected, reject, rejects, refused, refuse, refuses, failed, fail, fails, error, problem, failure, not accepted | postfix
rejected | en | bounced | postfix
rejected | de fr es pt it | abgelehnt, abgewiesen, zuruckgewiesen, rejete*, rechazad*, rejeitad*, recusad*, rifiutat* | orange.fr
rejected | de fr es pt it | respint*, odrzucon* | orange.fr
`;
