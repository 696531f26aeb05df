/**
 * The words of refusals. Each line: what the words stand for, their language, the words, and where they were read (`fixtures/replies`).
 * `*` at the end of a word stands for any ending. Accents of Latin letters, hyphens and apostrophes do not count. Pure data.
 */
export const VOCABULARY = `
filler | en | a, an, the, is, are, was, were, be, been, being, has, had, it, its, this, that, these, those, any, our, my, there | grammar
filler | en | such, so | grammar
filler | en | sorry, hi, currently, now, virtual, mail, specified, given, intended, original, or, and, one, as, ok | sisimai
filler | en | please | sisimai
filler | en | rfc, unknown address error, re, s, final, following, named, called, only, then, yet, also, just, all, most, very | IronPort
filler | en | here s | IronPort
filler | en | do, does, did, see, more, information, visit, contact, details, refer, help, go, learn, if, you, use, http | gmail
filler | en | https, said, reply | gmail
filler | de | der, die, das, den, dem, des, ein, eine, einen, einem, einer, ist, sind, wurde, wird, war, hat, dieser, diese | grammar
filler | de | dieses, uns, solch* | grammar
filler | fr | le, la, les, l, un, une, du, d, est, ete, cet, cette, ce, plus d, au, moins, ci, dessus, qu, que, aux | grammar
filler | fr | lettres | grammar
filler | es pt it | el, los, las, una, uno, es, esta, este, ese, esa, sido, ha, se, o, os, um, uma, foi, esse, lo, il, gli | grammar
filler | es pt it | e, questo | grammar
filler | es pt it | dicha, dicho, para, simile, risulta, sono, sta, nao foi possivel, del, al, della, di, por, da, dos, y, ou | grammar
filler | pl cs | jest, zostal*, ta, ten, tego, taki*, takie*, podan*, sie, tak*, je, tato, tento, byl*, byla, docelow* | grammar
filler | pl cs | przez | grammar
filler | ru uk | это, этот, эта, был, была, было, такого, такой, такая, данный, указанный, указанного, цей, такий, такої | grammar
filler | zh ja ko | 的, 该, 該, 此, 这个, 這個, 了, 是, を, は, が, の, に, で, も, この, その, 가, 이, 는, 은, 을, 를, 의, 해당, 수 | grammar

place | en | here, on this end, on file, with us, at home | sisimai
place | de fr es it pl ru | hier, bei uns, ici, chez nous, aqui, acqui, qui, tutaj, u nas, здесь, у нас, тут | grammar
preposition | en | to, at, in, on, by, with, of, for, into, within, inside, under, among | grammar
preposition | de fr es it pl ru | auf, im, bei, unter, dans, sur, en, em, no dominio, nel, sul, nella, na, w, ve, u, в, на, у | grammar
machine | en | domain*, host, hosts, server*, system*, site, machine, node, company, organi*, network, service, mailserver* | postfix
machine | en | mx service | postfix
machine | de fr es it pl ru | domaene, rechner, hote, serveur*, domaine, dominio, servidor*, domen*, serwer*, сервер*, домен* | grammar
machine | de fr es it pl ru | 域名, 服务器, 伺服器, 系统, 系統, サーバー, ドメイン, 서버, 도메인 | grammar
table | en | table, recipient table, alias table, mailbox table, alias map, domain map, maps, database, tables, user database | postfix
table | en | user table, user directory, account database | postfix
directory | en | directory, domino directory, name address book, address book, ldap, validrcptto list, route list | domino, qmail
directory | en | name directory, ldap server | domino, qmail
directory | fr es it ja | annuaire, libreta, directorio, rubrica, libreta de direcciones, ディレクトリ, アドレス帳 | domino

box | en | mailbox, mailboxes, mbox, inbox, mail box, mail boxes, mail drop, maildrop, postbox | sendmail
who | en | user, users, userid, username | sendmail
box | en | mailfolder, maildir | sendmail
box | en | account, accounts | sisimai
who | en | recipient, recipients, receiver, receiptor, addressee, adressee, alias, person, customer | sisimai
who | en | subscriber | sisimai
box | en | email account* | exim
who | en | address, addresses, adress, adresses, email address*, email adress*, emailaddress, mailaddress | exim
who | en | mail address* | exim
who | en | employee, recipients in your email, user or domain, our client*, our mx service client | 263
who | en | recipient lookup, address lookup, email address lookup, user lookup, local part, localpart, name, your recipient* | exim
who | en | your envelope recipient*, envelope recipient*, email name | exim
box | de | postfach*, konto, kontos | web.de
who | de | empfanger*, empfaenger*, benutzer*, nutzer*, adressat*, adresse, mailadresse*, postfaecher | web.de
who | de | teilnehmer | web.de
box | fr | boite, compte | orange.fr
who | fr | destinataire*, utilisateur*, abonne, correspondant, adresse electronique, adresse de messagerie | orange.fr
who | fr | adresse de courriel, votre correspondant | orange.fr
box | es pt | cuenta*, buzon, casilla, casella, conta, caixa, caixa postal | terra
who | es pt | usuario*, destinatario*, direccion, endereco, correo | terra
who | es pt | persona | terra
box | it | cassetta | tin.it
who | it | utente, utenti, destin, indirizzo | tin.it
box | pl | konta, kontem, kontu, skrzynk* | interia.pl
who | pl | odbiorca, odbiorcy, uzytkownik*, adresat*, adres, adresu, adresie | interia.pl
box | cs nl sv da no | schrank* | seznam.cz
who | cs nl sv da no | uzivatel*, prijemce, adresat, ontvanger, gebruiker*, mottagar*, modtager*, mottaker* | seznam.cz
who | cs nl sv da no | anvandar*, bruker*, bruger* | seznam.cz
box | fi tr hu ro | hesap | own words
who | fi tr hu ro | vastaanottaja*, kayttaja*, kullanici*, alici*, cimzett*, felhasznalo*, utilizator*, destinatar* | own words
box | fi tr hu ro | postalada* | own words
box | ru uk | ящик*, аккаунт*, учетн*, скринь* | mail.ru
who | ru uk | пользовател*, адрес*, получател*, абонент*, абонента, користувач*, одержувач* | mail.ru
who | ru uk | отримувач* | mail.ru
box | zh | 邮箱, 郵箱, 信箱, 帐号, 账号, 帳號, 帐户, 账户, 帳戶 | qq, 163
who | zh | 用户, 用戶, 使用者, 收件人, 收信人, 地址, 邮件地址, 收件地址, 邮箱地址, 电子邮件地址 | qq, 163
box | ja | アカウント, メールボックス | docomo
who | ja | ユーザー, ユーザ, 宛先, あて先, アドレス, メールアドレス, 受信者, 受取人, 宛名, 利用者 | docomo
box | ko | 계정, 메일함, 편지함, 메일박스 | daum
who | ko | 사용자, 수신자, 받는사람, 받는 사람, 주소, 메일주소, 수신인 | daum
email | en | email, emails, e mail | sisimai

not | en | not, no, nor, isn t, doesn t, dosn t, don t, wasn t, hasn t, haven t, couldn t, can t, cannot, cant, aren t, never | grammar
not | en | didn t | grammar
not | en | doesnt, dosnt, dont, isnt, wasnt, couldnt, hasnt, unable, failed to, unable to, could not, can not, n t | grammar
not who | zh | 查无此人, 查無此人, 无此人, 無此人, 没有此人 | qq
not who | en | no one, nobody, no id, no such id, nosuchuser, notuser, not recipient | sisimai
not found who | en | recipnotfound, recipientnotfound, usernotfound, mailboxnotfound | exchange
not | de | nicht, kein*, nie, niemand | grammar
not | fr es pt it | n, ne, pas, aucun*, non, nao, nenhum*, nessun*, ningun*, jamais, nunca | grammar
not | pl cs nl sv da fi tr hu ro | brak, neni, niet, geen, inte, ingen, ikke, ei, nem, nu, nie ma, degil, zadn* | grammar
absent | ru uk tr ja ko | нет, немає, нема, отсутств*, відсутн*, yok, なし, 無し, 없음 | mail.ru
not | ru uk | не, ні | grammar
not | zh ja ko | 不, 没有, 沒有, 无, 無, 未, 找不到, 查无, 查無, 不到, ません, ていません, おりません, ない, ありません, 않*, 없*, 없습니다, 않습니다, 않는 | grammar
exists | en | exist, exists, existing, exsist | sendmail
exists | de fr es it | existiert*, vorhanden, exist*, existe*, esiste*, gefunden, trouve*, encontr*, encuentra, trovat* | grammar
exists | pl cs nl sv da fi tr hu ro | istniej*, existuj*, bestaat, finns, findes, finnes, loydy, mevcut, letezik, exista | grammar
exists | pl cs nl sv da fi tr hu ro | gevonden, znalezion*, nalezen* | grammar
exists | ru uk zh ja ko | существу*, найден*, існу*, знайден*, 存在, 找到, 存在し, 見つかり, 見つから, 존재, 존재하지, 찾을 | grammar
found | en | found, find, locate, located | sendmail
known | en | known, know, knows, recogni*, valid, listed, registered, present, defined, local, correct | domino
known | en | assigned, provisioned, mapped, member of domain, member of this domain | tinycampaign
have | en | have, got, handle, handles, own, owns | yahoo
rcpt | en | rcpt | sisimai
known | de fr es pt it | bekannt, gultig*, gueltig*, registriert, zugeordnet, connu*, valide, valable, conocid*, valido, valida | grammar
known | de fr es pt it | validos, validas | grammar
known | de fr es pt it | conhecid*, conosciut* | grammar
known | de fr es it | angelegt, eingerichtet, repertorie*, inscrit*, enregistre*, registrad*, enderecad*, cadastrad*, registrat* | domino
known | de fr es it | correcte, corrett* | domino
known | pl nl sv ru zh ja ko | znan*, zarejestrowan*, bekend, kand, kjent, kendt, зарегистрир*, известен, известн*, 注册, 註冊, 有效 | grammar
known | pl nl sv ru zh ja ko | 登録*, 登録されてい, 유효하지 | grammar

unknown | en | unknown, unknow, unkown, unknowns, invalid, nonexist*, inexist*, non exist*, unexist*, missing home directory | sendmail
unknown | en | unrecogni*, illegal | sendmail
unknown | en | bad, wrong, incorrect, misspel*, mistyped, nosuch, undefined, unregistered, unrouteable, unroutable | exim
unknown | en | was undeliverable | exim
unknown who | en | undeliverable address, undeliverable recipient, undeliverable user | postfix
unknown who | en | userunknown, unknownuser, badrcptto, bad recipient, badrecipientto, badrecipient, invalidrecipient, invaliduser | qmail
unknown who | en | invalidmailbox | qmail
known who | en | validrcptto, rcptto list | qmail
unknown | de | unbekannt*, unguelt*, ungult*, falsch*, unzustellbar*, inexistent* | web.de
unknown | fr | inconnu*, invalid*, inexistant*, errone*, incorrecto, incorrecta, incorrecte | orange.fr
unknown | es pt it | desconocid*, desconhecid*, sconosciut*, errat*, non valid*, ine*istent*, inesistent* | terra, ig.com.br
unknown | pl cs nl sv da tr hu | nieznan*, nieprawidlow*, bledn*, niepoprawn*, neznam*, neexistuj*, onbekend*, ongeldig*, okand* | sare.pl
unknown | pl cs nl sv da tr hu | ukendt*, ukjent*, ismeretlen* | sare.pl
unknown | tr fi ro pl | bilinmeyen, gecersiz, bulunamadi, tuntemat*, necunoscut*, nieistniejac* | own words
unknown | ru uk | неизвест*, неверн*, несуществ*, недействит*, невідом*, некоррект*, неправильн* | mail.ru
unknown | zh | 不存在, 无效, 無效, 错误, 錯誤, 不正确, 不合法, 不合规, 未知, 未找到, 不明, 有误, 有誤, 不是有效 | qq, 163
unknown | ja ko | 無効, 不正, 誤り, 間違, 見当たりません, 알 수 없는, 알수없는, 잘못된, 유효하지 않, 없는 | docomo
not available | en | unavailable, unavailble, unavaiable | rfc 5321
available | en | available, reachable, accessible | rfc 5321
available | de fr es pt it pl ru | verfugbar, verfuegbar, erreichbar, disponib*, disponivel, dostepn*, доступ* | interia.pl
not available | fr es pt it pl cs ru zh | indisponi*, niedostepn*, nedostupn*, недоступ*, 不可用 | interia.pl
delivered | en | delivered, deliver, reach, process, validate, verified, verify, route, accepted, accept, accepting, receive | sisimai
delivered | en | receiving | sisimai

gone | en | disabled, deactivated, inactivated, suspended, suspend, inactive, closed, terminated, frozen, archived, discontinued | yahoo
expired | en | expired | yahoo
who gone | en | account locked, account is locked, account has been locked, user locked, user is locked, status is locked | vpopmail
gone | en | retired, dormant, abandoned, obsolete, shut down, switched off, turned off, inactivity, defunct, deprovision*, unused | yahoo
gone | en | lapsed | yahoo
gone | en | not logged in, not logged on, never logged in, not been used, never been used, decommission*, has left, have left | own words
gone | en | left the company, cancelled, canceled | own words
deleted | en | deleted, removed, purged, has moved, have moved, has been moved | yahoo
gone | de | deaktiviert*, inaktiv*, abgeschaltet, stillgelegt, geloscht*, geloescht*, geschlossen*, abgelaufen* | 1und1
gone | fr | desactiv*, inactif*, inactiv*, ferme, fermee, cloture*, suspendu*, supprim*, archive*, expire* | orange.fr
gone | es pt it | desactivad*, desativad*, deshabilitad*, inativ*, suspendid*, suspens*, expirad*, ha expirado, encerrad* | terra
gone | es pt it | cancelad* | terra
gone | es pt it | eliminad*, excluid*, falta de uso, disattivat*, disatttivat*, disabilitat*, inattiv*, sospes*, inutilizzo | tin.it
gone | es pt it | scadut*, cancellat*, chius* | tin.it
gone | pl cs nl sv da tr | nieaktywn*, wylaczon*, zawieszon*, usuniet*, zlikwidowan*, deaktivov*, zrusen*, uitgeschakeld | sare.pl
gone | pl cs nl sv da tr | gesloten, avslutat, nedlagt, kapatil* | sare.pl
gone | ru uk | отключен*, заблокирован*, удален*, удалён*, неактив*, деактив*, приостановлен*, закрыт*, заморожен*, вимкнен* | mail.ru
gone | ru uk | видален*, заблокован* | mail.ru
gone | zh | 停用, 禁用, 被禁用, 冻结, 凍結, 注销, 註銷, 已删除, 已刪除, 被删除, 关闭, 關閉, 已关闭, 过期, 過期, 失效, 锁, 被锁, 休眠, 停权, 停權 | sina
gone | ja ko | 停止, 解約, 無効化, 削除, 休止, 退会, 閉鎖, 利用停止, 휴면, 정지, 삭제, 탈퇴, 사용중지, 비활성, 만료 | daum
active | en | active, activated, enabled, in use, used, in service, alive, activate, working, with the company, employed | sisimai
active | en | in operation | sisimai
active | de fr es pt it pl ru | aktiv, aktiviert, genutzt, actif, utilise*, activ*, activad*, em uso, en uso, attiv*, in uso | typo3 t3m
active | de fr es pt it pl ru | aktywn*, uzywan*, активен, активн* | typo3 t3m
no longer | en | no longer, not longer, any longer, anymore, any more, not anymore, ceased to | yahoo
no longer | de fr es pt it pl ru zh ja | nicht mehr, nicht laenger, n existe plus, plus, ya no, mais nao, nao mais, non piu | own words
no longer | de fr es pt it pl ru zh ja | juz nie, nie jest juz, больше не, 不再, 已不 | own words
receives | en | accepts mail, accepts email, accepts messages, receives mail, accept mail, accepting mail, receive mail | qmail
receives | en | accepts any mail | qmail
receives | fr de es | accepte de messages, accepte plus de messages, empfangt, acepta correo | microsoft

full | en | full, overfull, mailboxfull | cyrus
full | de fr es pt it | voll, uberfullt, ueberfuellt, uberfuellt, pleine, plein, sature*, lleno, llena, cheia, cheio, lotad* | web.de
full | de fr es pt it | piena, pieno, esaurit* | web.de
full | pl cs nl sv ru uk zh ja ko | przepelnion*, pelna, plna, vol, fullt, переполнен*, переповнен*, 已满, 已滿, 满, 超容, いっぱい, 一杯, 満杯, 가득 | qq
full | pl cs nl sv ru uk zh ja ko | 초과, 꽉 | qq
quota | en | quota, quotas, diskquota, storage, space, diskspace, disk space, disc quota, disk quota, storage space, allocation | dovecot
quota | en | domaindisk, userdisk, hard limit | dovecot
quota | de fr es pt it pl ru | speicherplatz*, speichervolumen, speicher, espace, espacio, espaco, cuota, cota, spazio, quote | web.de
quota | de fr es pt it pl ru | miejsca, limit miejsca, места, квот* | web.de
quota | zh ja ko | 容量, 空间, 空間, 配额, 配額, 容量超過, 용량, 저장공간 | qq
over quota | en | overquota, over quota, no space, no space left, no space left on device, inode limit, too many messages in | sisimai
over quota | en | too many messages on, too many mails in | sisimai
over quota | en | too much mail data, out of storage, mailfolder is over, blocks limit exceeded | docomo
over quota | en | too many messages on the server | docomo
over quota | de es | zuviele mails, zu viele mails, zuviele nachrichten, sobre utilizada | web.de, typo3 t3m
over | en | over, exceed*, exeed*, exceds, exhaust*, reached, surpass*, beyond, insufficient, larger than, violation, not enough | dovecot
over | en | used up, out of | dovecot
over | en | enough, not sufficient, sufficient, low on, maximum | dovecot
over | de fr es pt it pl zh | uberschritten, ueberschritten, erschoepft, erschopft, insuffisant*, insuficiente, insufficiente | web.de
over | de fr es pt it pl zh | недостаточн*, недостатньо, depass*, excedid*, superad*, sobrepass*, exced* | web.de
over | de fr es pt it pl zh | superat*, przekrocz*, 超出, 超过, 超過, 不足, 不够, 不夠, オーバー, превыш*, перевищ* | web.de
limit | en | limit, limits, size, maximum allowed | cyrus
message | en | message, messages, mails, letter, mail size, mail data | sisimai
your mail | en | your mail, your mails, your email, your emails, your message, your messages | sisimai
message | de fr es pt it pl | nachricht*, sendung, courriel, mensaje*, mensagem, mensagens, messaggi*, wiadomosc*, письм* | grammar
message | de fr es pt it pl | сообщен*, 邮件, 郵件, メール, 메일 | grammar

temporary | en | vacation, holiday, out of office, until, maintenance | exchange
temporary | en | temporar*, temporal, later, moment, busy, deferred, delayed, defer, retries, retrying, again later, try later | postfix
temporary | de fr es pt it pl ru zh ja ko | spater, spaeter, vorubergehend, voruebergehend, temporaer, momentan, plus tard | grammar
temporary | de fr es pt it pl ru zh ja ko | mas tarde, mais tarde, tente novamente | grammar
temporary | de fr es pt it pl ru zh ja ko | piu tardi, temporane*, temporair*, tymczasow*, pozniej, chwilowo, временн*, позже | grammar
temporary | de fr es pt it pl ru zh ja ko | попозже, 稍后, 稍後, 暂时, 暫時, 一時的, 後で, 나중에, 일시 | grammar
retry | en | try again, retry, resend | sendmail
check | en | check, checking, double, spelling, verify the, verify that, typos, spelled, typo | gmail
`;
