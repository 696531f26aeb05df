/** The words of column names, by what they say about a column. Plain data, in small letters and without accents. */

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/**
 * Words that name a key, in the languages of exports. A word of several parts, such as `posta elettronica`, is written without its spaces.
 * `docs/columns.md` lists them.
 */
export const KEY_WORDS = {
  email: words(`
  email emails mail mails eml emailaddress mailaddress courriel courriels mel electronicmail adresseelectronique
  adresselectronique correo correos correoelectronico correoelec direccionelectronica postaelettronica indirizzoelettronico
  correioeletronico correioelectronico enderecoeletronico enderecoelectronico pocztaelektroniczna poczta epost eposter epostadress
  epostadresse mejl eposta elektronickaposta elektronskaposta elektronskiposta elektronikusposta elpastas epasts sahkoposti emaila
  meil elektronischepost surel thudientu emailcim villamposta emailovaadresa mailovaadresa epocta электроннаяпочта элпочта
  почта имейл имеил емейл емеил мейл меил електроннапошта пошта електроннапоща ηλεκτρονικοταχυδρομειο ηλταχυδρομειο メール
  メイル eメール 電子メール メールアドレス 邮箱 电邮 电子邮箱 电子邮件 邮箱地址 邮件 信箱 電郵 電子郵件 電子信箱 이메일 메일
  전자우편 อีเมล ईमेल البريدالالكتروني بريدالكتروني الايميل ايميل אימייל דואל דוארלקטרוני דואראלקטרוני מייל
`),
  domain: words(`
  domain domains website websites site web homepage url urls www webpage webaddress webadresse webadress webadres websiteurl
  webseite webseiten internetseite internetadresse internet internetauftritt netzseite domane siteweb siteinternet sitesweb
  sitioweb paginaweb sitoweb sitointernet sito paginainternet siteoficial stronawww stronainternetowa strona witryna adreswww
  domaine dominio domena domeny domein domeinnaam domene doman hemsida webbplats webbsida hjemmeside nettside nettsted websted
  kotisivu kotisivut verkkosivu verkkosivut verkkosivusto weboldal honlap webovestranky webovastranka webstranka stranky
  spletnastran webstranica internetskastranica siteulweb internetsitesi websitesi сайт вебсайт домен ιστοσελιδα ιστοτοπος
  ウェブサイト ホームページ サイト ドメイン 网站 网址 官网 域名 網站 網址 홈페이지 웹사이트 도메인 เว็บไซต์ الموقع موقع אתר
`),
  linkedin: words('linkedin linkedinurl linkedinprofile linkedinprofileurl linkedinlink linkedinpublicurl linkedinpublicprofile'),
  phone: words(`
  phone phones ph telephone tel tele telno telefonu telefonni telefoonnummer telefon telefono telephon telefoon telefone
  telefonnummer telefonnr telnr telnummer rufnummer fon phonenumber mobile mobil mobiles mobilephone mobilenumber mobilnummer
  mobilnr mobiltelefon mobiltel cell cellphone cellular handy handynummer handynr natel gsm portable telportable movil celular
  cellulare telefonino mobiel mobiele telemovel komorka komorkowy telkomorkowy mobilni mobilnitelefon mobilos matkapuhelin puhelin
  puhelinnumero telefonnumer telefonszam mobilszam cep ceptelefonu телефон мобильный мобильныи моб тел τηλεφωνο κινητο 電話
  電話番号 携帯 携帯電話 电话 电话号码 手机 手机号 手机号码 手機 電話號碼 전화 전화번호 휴대폰 휴대전화 핸드폰 फोन मोबाइल هاتف
  الهاتف جوال الجوال טלפון נייד directdial
`),
} as const;

export type KeyWord = keyof typeof KEY_WORDS;

/** Words that say nothing about which key a column holds: number, form, record, and words between words. */
export const NEUTRAL_WORDS: readonly string[] = words(`
  address addresses addr adresse adressen adresser adress adressa adresa adresy adres direccion direcciones indirizzo indirizzi
  endereco enderecos osoite osoitteet cim adrese adresas aadress adresi адрес adresse アドレス 地址 주소 العنوان number numbers n
  num nummer nr no numero numeros numer cislo numar szam numarasi id value values val wert valeur valor valore text str string
  field fields feld champ campo campi pole column col property properties attribute attributes attr custom cf data record item raw
  source contact contacts kontakt kontakte kontakty kontaktperson ansprechpartner contacto contactos contatto contatti contato
  contatos contactpersoon contactpersonne yhteyshenkilo kapcsolat контакт 联系人 連絡先 담당자 person persons people personne
  persona personas persoon pessoa osoba osoby henkilo user users member members subscriber candidate prospect lead leads customer
  customers client clients kunde kunden klient cliente clientes klant klanten buyer recipient attendee participant registrant
  respondent student employee mitarbeiter employe empleado dipendente medewerker funcionario pracownik guest applicant teilnehmer
  primary main default principal principale principales prim haupt hauptsachlich hoofd glowny glowna preferred best first current
  actual business work works job office professional professionnel professionnelle professionnels profesional professionale
  profissional pro zakelijk zakelijke sluzbowy sluzbowa firmowy firmowa geschaftlich geschaftliche geschaftlicher geschafts
  dienstlich dienstliche dienst beruflich berufliche bureau buro trabajo laboral corporativo corporativa lavoro aziendale ufficio
  trabalho comercial werk arbeit arbete jobb arbejde tyo munkahelyi pracovni pracovny corporate corp direct direkt direkte direto
  directo diretto company companies account accounts organization organisation organizations organisations org firm firma firmen
  unternehmen unternehmens enterprise entreprise societe empresa compania azienda societa bedrijf bedrijfs yritys foretag foretags
  virksomhed bedrift firmy spolka компании компания 公司 会社 회사 of the your you a an for de des du la le les el los las der die
  das dem den di del della dell do da dos van het zu im in am c hs hubspot sf sfdc crm public full complete completo complet
`);

/** Words for a private address or number: another column comes first. */
export const PERSONAL_WORDS: readonly string[] = words(`
  personal private privat private privates privater home perso personnel personnelle particular privado privada privato privata
  pessoal particulier prywatny prywatna prive thuis privatni sukromny henkilokohtainen yksityinen personlig
`);

/** Words for one of several: another column comes first. */
export const SECONDARY_WORDS: readonly string[] = words(`
  secondary second additional alternate alternative alt other others backup another autre autres andere weitere otro otra altro
  outra outro inny inna switchboard zentrale central standard geral general generic info
`);

/** Words that name a number of a mobile, which has one user. */
export const MOBILE_WORDS: readonly string[] = words(`
  mobile mobil mobiles mobilephone mobilenumber mobilnummer mobilnr mobiltelefon mobiltel cell cellphone cellular handy
  handynummer handynr natel gsm portable telportable movil celular cellulare telefonino mobiel mobiele telemovel komorka komorkowy
  telkomorkowy mobilni mobilnitelefon mobilos matkapuhelin mobilszam cep ceptelefonu мобильный мобильныи моб κινητο 携帯
  携帯電話 手机 手机号 手机号码 手機 휴대폰 휴대전화 핸드폰 جوال الجوال נייד
`);

/** Words that may stand beside `linkedin` in the name of a column with people's pages. */
export const PROFILE_WORDS: readonly string[] = words('profile profil perfil profilo profiel url urls link links page web address slug');

/** Words for a company: with `linkedin` they name the company's page. */
export const COMPANY_WORDS: readonly string[] = words(`
  company companies account accounts organization organisation organizations organisations org firm firma firmen unternehmen
  unternehmens enterprise entreprise societe empresa compania azienda societa bedrijf yritys foretag virksomhed bedrift firmy
  spolka business corporate
`);

/** Words of columns whose addresses belong to one's own people or to a system: such a column is never found by its values. */
export const OWN_PEOPLE_WORDS: readonly string[] = words(`
  owner owners besitzer eigentumer inhaber proprietaire propietario proprietario eigenaar wlasciciel rep sdr bdr ae csm agent
  seller sales manager assigned assignee assistant creator created createdby modified modifiedby updated updatedby lastmodifiedby
  added addedby sender from cc bcc replyto reply recruiter invited referrer referred referral by erstellt geandert bearbeiter
  zustandig support
`);

/** Words of columns with addresses of web pages that are not the company's own. */
export const OTHER_PAGE_WORDS: readonly string[] = words(`
  logo image img photo picture avatar bild foto file attachment document referrer referer source page seen landing utm first last
  tracking unsubscribe video api webhook careers career jobs tool tools technology technologies stack competitor competitors email
  mail
`);

/** Prefixes that exports put before the name of a field, for columns that are found by whole names. */
export const PREFIX_WORDS: readonly string[] = words(`
  contact contacts kontakt contacto contatto contato person people personne persona persoon pessoa lead leads prospect member
  subscriber candidate attendee participant registrant respondent properties property attributes custom hs crm primary main
`);

/** Words that may stand beside a word for a domain, as in `Domain name`. */
export const NAME_WORDS: readonly string[] = words('name nom nome nombre naam namn navn nazwa nimi nazev jmeno имя');
