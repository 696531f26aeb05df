/** Country calling codes (ITU-T E.164), and how numbers are written within each country. Pure. */

/** Each assigned code, and the countries (ISO 3166-1) with it. The codes without a country are global services. */
const COUNTRIES_BY_CODE = `
  1 US CA AG AI AS BB BM BS DM DO GD GU JM KN KY LC MP MS PR SX TC TT VC VG VI; 7 RU KZ; 20 EG; 27 ZA; 30 GR; 31 NL; 32 BE; 33 FR;
  34 ES; 36 HU; 39 IT VA; 40 RO; 41 CH; 43 AT; 44 GB GG IM JE; 45 DK; 46 SE; 47 NO SJ; 48 PL; 49 DE; 51 PE; 52 MX; 53 CU; 54 AR;
  55 BR; 56 CL; 57 CO; 58 VE; 60 MY; 61 AU CC CX; 62 ID; 63 PH; 64 NZ; 65 SG; 66 TH; 81 JP; 82 KR; 84 VN; 86 CN; 90 TR; 91 IN;
  92 PK; 93 AF; 94 LK; 95 MM; 98 IR; 211 SS; 212 MA EH; 213 DZ; 216 TN; 218 LY; 220 GM; 221 SN; 222 MR; 223 ML; 224 GN; 225 CI;
  226 BF; 227 NE; 228 TG; 229 BJ; 230 MU; 231 LR; 232 SL; 233 GH; 234 NG; 235 TD; 236 CF; 237 CM; 238 CV; 239 ST; 240 GQ; 241 GA;
  242 CG; 243 CD; 244 AO; 245 GW; 246 IO; 247 AC; 248 SC; 249 SD; 250 RW; 251 ET; 252 SO; 253 DJ; 254 KE; 255 TZ; 256 UG; 257 BI;
  258 MZ; 260 ZM; 261 MG; 262 RE YT; 263 ZW; 264 NA; 265 MW; 266 LS; 267 BW; 268 SZ; 269 KM; 290 SH; 291 ER; 297 AW; 298 FO;
  299 GL; 350 GI; 351 PT; 352 LU; 353 IE; 354 IS; 355 AL; 356 MT; 357 CY; 358 FI AX; 359 BG; 370 LT; 371 LV; 372 EE; 373 MD;
  374 AM; 375 BY; 376 AD; 377 MC; 378 SM; 379; 380 UA; 381 RS; 382 ME; 383 XK; 385 HR; 386 SI; 387 BA; 389 MK; 420 CZ; 421 SK;
  423 LI; 500 FK GS; 501 BZ; 502 GT; 503 SV; 504 HN; 505 NI; 506 CR; 507 PA; 508 PM; 509 HT; 590 GP BL MF; 591 BO; 592 GY; 593 EC;
  594 GF; 595 PY; 596 MQ; 597 SR; 598 UY; 599 CW BQ; 670 TL; 672 NF AQ; 673 BN; 674 NR; 675 PG; 676 TO; 677 SB; 678 VU; 679 FJ;
  680 PW; 681 WF; 682 CK; 683 NU; 685 WS; 686 KI; 687 NC; 688 TV; 689 PF; 690 TK; 691 FM; 692 MH; 800; 808; 850 KP; 852 HK; 853 MO;
  855 KH; 856 LA; 870; 878; 880 BD; 881; 882; 883; 886 TW; 888; 960 MV; 961 LB; 962 JO; 963 SY; 964 IQ; 965 KW; 966 SA; 967 YE;
  968 OM; 970 PS; 971 AE; 972 IL; 973 BH; 974 QA; 975 BT; 976 MN; 977 NP; 979; 992 TJ; 993 TM; 994 AZ; 995 GE; 996 KG; 998 UZ`;

/** Trunk prefixes other than `0`, and of countries without one the digits of a number: `fewest-most`. */
const TRUNK = '36:06 7:8 375:8 993:8';
const NO_TRUNK = `
  30:10 34:9 39:6-11 45:8 47:8 48:9 52:10 56:9 57:10 65:8 216:8 220:7 221:9 222:8 223:8 224:9 225:10 226:8 227:8 228:8 229:8-10 230:7-8
  235:8 236:8 237:9 238:7 239:7 240:9 241:7-8 242:9 244:9 245:9 248:7 253:8 258:8-9 266:8 267:7-8 268:8 269:7 297:7 298:6 299:6 350:8
  351:9 352:6-9 354:7 356:8 357:8 371:8 372:7-8 376:6-9 377:8-9 378:6-10 379:6-11 420:9 423:7 501:7 502:8 503:8 504:8 505:8 506:8
  507:7-8 508:6 509:8 592:7 597:6-7 670:7-8 673:7 674:7 675:7-8 676:5-7 677:5-7 678:5-7 679:7 687:6 689:6-8 852:8 853:8 960:7 965:8
  968:8 973:8 974:8 975:7-8 992:9 998:9`;

/** How numbers are written within a country. */
interface NumberPlan {
  /** The calling code, without a plus. */
  readonly code: string;
  /** The trunk prefix, before a number that is called within the country; empty without one. */
  readonly trunk: string;
  /** Digits of a number without calling code and trunk prefix. */
  readonly fewest: number;
  readonly most: number;
}

/** The calling code of countries whose numbers have ten digits. */
export const NORTH_AMERICA = '1';

const plansByCountry = new Map<string, NumberPlan>();
const codes = new Set<string>();
const [trunks, lengths] = [pairsIn(TRUNK), pairsIn(NO_TRUNK)];
for (const entry of COUNTRIES_BY_CODE.split(';')) {
  const [code = '', ...countries] = entry.trim().split(/\s+/);
  codes.add(code);
  for (const country of countries) plansByCountry.set(country, planOf(code));
}

function planOf(code: string): NumberPlan {
  if (code === NORTH_AMERICA) return { code, trunk: '1', fewest: 10, most: 10 };
  const length = lengths.get(code);
  if (length === undefined) return { code, trunk: trunks.get(code) ?? '0', fewest: 7, most: 12 };
  const [fewest = 0, most = fewest] = length.split('-').map(Number);
  return { code, trunk: '', fewest, most };
}

function pairsIn(text: string): Map<string, string> {
  return new Map(
    text
      .trim()
      .split(/\s+/)
      .map((pair) => pair.split(':') as [string, string]),
  );
}

/** Null for an unknown country. @param country two letters (ISO 3166-1) */
export function numberPlan(country: string): NumberPlan | null {
  return plansByCountry.get(country) ?? null;
}

/** The assigned calling code that these digits begin with; null without one, as in `999`. */
export function callingCode(digits: string): string | null {
  for (const length of [1, 2, 3]) if (codes.has(digits.slice(0, length))) return digits.slice(0, length);
  return null;
}
