/** Countries by ISO 3166-1 code of two or three letters, and by name in the languages below, from ICU. */
import { normaliseText } from '../util/normalise-text.ts';

const ENGLISH = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
/** Files of CRMs name countries in the language of their users. English names win over others. */
const LANGUAGES =
  'de fr es it pt nl sv da nb fi pl cs sk hu ro hr sl tr el ru uk bg ja zh zh-TW ko ar he id vi et lv lt ca is sr th hi'.split(' ');

/** Codes that ICU names and that are no country: unions, pseudo locales, and the user-assigned code for an unknown one. */
const NO_COUNTRIES: readonly string[] = ['EU', 'EZ', 'QO', 'UN', 'XA', 'XB', 'ZZ'];

/** Common other names, as `normaliseText` writes them without dots and without `the`. */
const ALSO: Readonly<Record<string, string>> = {
  'united states of america': 'US',
  america: 'US',
  england: 'GB',
  scotland: 'GB',
  wales: 'GB',
  'great britain': 'GB',
  'northern ireland': 'GB',
  korea: 'KR',
  'republic of korea': 'KR',
  "korea, democratic people's republic of": 'KP',
  russia: 'RU',
  'russian federation': 'RU',
  turkey: 'TR',
  'czech republic': 'CZ',
  'slovak republic': 'SK',
  holland: 'NL',
  uae: 'AE',
  emirates: 'AE',
  ksa: 'SA',
  prc: 'CN',
  "people's republic of china": 'CN',
  vietnam: 'VN',
  'viet nam': 'VN',
  'ivory coast': 'CI',
  'cape verde': 'CV',
  macedonia: 'MK',
  burma: 'MM',
  swaziland: 'SZ',
  palestine: 'PS',
  'hong kong': 'HK',
  macau: 'MO',
  macao: 'MO',
  'dr congo': 'CD',
  drc: 'CD',
  'democratic republic of the congo': 'CD',
  'congo, the democratic republic of the': 'CD',
  'republic of the congo': 'CG',
  'brunei darussalam': 'BN',
  'syrian arab republic': 'SY',
  "lao people's democratic republic": 'LA',
};

/** ISO 3166-1 alpha-3, where it is not in `ALSO`: the code of two letters follows. */
const THREE_LETTERS =
  'ABW AW AFG AF AGO AO AIA AI ALA AX ALB AL AND AD ARE AE ARG AR ARM AM ASM AS ATA AQ ATF TF ATG AG AUS AU AUT AT AZE AZ BDI BI BEL BE ' +
  'BEN BJ BES BQ BFA BF BGD BD BGR BG BHR BH BHS BS BIH BA BLM BL BLR BY BLZ BZ BMU BM BOL BO BRA BR BRB BB BRN BN BTN BT BVT BV BWA BW ' +
  'CAF CF CAN CA CCK CC CHE CH CHL CL CHN CN CIV CI CMR CM COD CD COG CG COK CK COL CO COM KM CPV CV CRI CR CUB CU CUW CW CXR CX CYM KY ' +
  'CYP CY CZE CZ DEU DE DJI DJ DMA DM DNK DK DOM DO DZA DZ ECU EC EGY EG ERI ER ESH EH ESP ES EST EE ETH ET FIN FI FJI FJ FLK FK FRA FR ' +
  'FRO FO FSM FM GAB GA GBR GB GEO GE GGY GG GHA GH GIB GI GIN GN GLP GP GMB GM GNB GW GNQ GQ GRC GR GRD GD GRL GL GTM GT GUF GF GUM GU ' +
  'GUY GY HKG HK HMD HM HND HN HRV HR HTI HT HUN HU IDN ID IMN IM IND IN IOT IO IRL IE IRN IR IRQ IQ ISL IS ISR IL ITA IT JAM JM JEY JE ' +
  'JOR JO JPN JP KAZ KZ KEN KE KGZ KG KHM KH KIR KI KNA KN KOR KR KWT KW LAO LA LBN LB LBR LR LBY LY LCA LC LIE LI LKA LK LSO LS LTU LT ' +
  'LUX LU LVA LV MAC MO MAF MF MAR MA MCO MC MDA MD MDG MG MDV MV MEX MX MHL MH MKD MK MLI ML MLT MT MMR MM MNE ME MNG MN MNP MP MOZ MZ ' +
  'MRT MR MSR MS MTQ MQ MUS MU MWI MW MYS MY MYT YT NAM NA NCL NC NER NE NFK NF NGA NG NIC NI NIU NU NLD NL NOR NO NPL NP NRU NR NZL NZ ' +
  'OMN OM PAK PK PAN PA PCN PN PER PE PHL PH PLW PW PNG PG POL PL PRI PR PRK KP PRT PT PRY PY PSE PS PYF PF QAT QA REU RE ROU RO RUS RU ' +
  'RWA RW SAU SA SDN SD SEN SN SGP SG SGS GS SHN SH SJM SJ SLB SB SLE SL SLV SV SMR SM SOM SO SPM PM SRB RS SSD SS STP ST SUR SR SVK SK ' +
  'SVN SI SWE SE SWZ SZ SXM SX SYC SC SYR SY TCA TC TCD TD TGO TG THA TH TJK TJ TKL TK TKM TM TLS TL TON TO TTO TT TUN TN TUR TR TUV TV ' +
  'TWN TW TZA TZ UGA UG UKR UA UMI UM URY UY USA US UZB UZ VAT VA VCT VC VEN VE VGB VG VIR VI VNM VN VUT VU WLF WF WSM WS XKX XK YEM YE ' +
  'ZAF ZA ZMB ZM ZWE ZW';
const byThreeLetters = new Map([...THREE_LETTERS.matchAll(/(\w{3}) (\w{2})/g)].map(([, three = '', two = '']) => [three, two] as const));

/** The addition of official names behind a comma, as in `Iran, Islamic Republic of`. */
const OFFICIAL_PART = /,\s*(?:.*\b(?:republic|state|states|kingdom|province|islamic)\b.*|the)$/;

let byEnglishName: Map<string, string | null> | null = null;
let byForeignName: Map<string, string | null> | null = null;
/** A cache, because Intl takes microseconds for each code. */
const codes = new Map<string, string | null>();
const names = new Map<string, string | null>();

/** The code of a country, from a code, a name or an abbreviation such as `U.S.`; null if it is no country, or may be several. */
export function findCountry(text: string): string | null {
  const given = text.trim();
  if (/^[a-z]{2}$/i.test(given)) return currentCode(given.toUpperCase());
  // `U.S.A.`, `The Netherlands`, `Trinidad and Tobago`.
  const name = normaliseText(given).replaceAll('.', '').replace(/^the /, '');
  if (/^[a-z]{2}$/.test(name)) return currentCode(name.toUpperCase());
  return named(name) ?? (OFFICIAL_PART.test(name) ? named(name.replace(OFFICIAL_PART, '')) : null);
}

function named(name: string): string | null {
  if (Object.hasOwn(ALSO, name)) return ALSO[name] ?? null;
  const three = /^[a-z]{3}$/.test(name) ? byThreeLetters.get(name.toUpperCase()) : undefined;
  if (three !== undefined) return three;
  byEnglishName ??= allNames([ENGLISH]);
  const english = byEnglishName.get(nameForm(name));
  if (english !== undefined) return english;
  byForeignName ??= allNames(LANGUAGES.map((language) => new Intl.DisplayNames(language, { type: 'region', fallback: 'none' })));
  return byForeignName.get(nameForm(name)) ?? null;
}

/** A name as names are compared: without accents, and `and` for its sign. */
function nameForm(name: string): string {
  return normaliseText(name).replaceAll('.', '').replaceAll('&', 'and');
}

/** The English name of a code; null if there is no such country. */
export function countryName(code: string): string | null {
  if (NO_COUNTRIES.includes(code)) return null;
  let name = names.get(code);
  if (name === undefined) {
    name = ENGLISH.of(code) ?? null;
    names.set(code, name);
  }
  return name;
}

/** The current code of a present or former one: `UK` becomes `GB`. */
function currentCode(code: string): string | null {
  const before = codes.get(code);
  if (before !== undefined) return before;
  const current = (Intl.getCanonicalLocales(`und-${code}`)[0] ?? '').slice('und-'.length);
  const found = countryName(current) === null ? null : current;
  codes.set(code, found);
  return found;
}

/** The countries by name; null for a name of several countries. */
function allNames(languages: readonly Intl.DisplayNames[]): Map<string, string | null> {
  const found = new Map<string, string | null>();
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at));
  for (const code of letters.flatMap((first) => letters.map((second) => first + second))) {
    if (currentCode(code) !== code) continue;
    for (const language of languages) {
      const name = nameForm(language.of(code) ?? '');
      if (name !== '') found.set(name, found.has(name) && found.get(name) !== code ? null : code);
    }
  }
  return found;
}
