/** Parses rows of contacts with their company: most rows repeat the text of one, which is then parsed once. Pure. */
import { parseObject } from '../../../formats/jsonl/jsonl-records.ts';
import { LruMap } from '../../../util/lru-map.ts';
import { ownText } from '../../http/own-text.ts';

/** Characters of all cached texts. Their objects and clean records take about six times as many bytes. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** How a company begins that is not the first member of its row. Within a text of JSON these quotes would be escaped. */
const COMPANY = ',"company":{';
/** The end of a member before a comma, white space aside. */
const MEMBER_END = /[^\s{]/;

type JsonObject = Record<string, unknown>;

/** The companies that rows share. */
const shared = new WeakSet();

/** Whether other rows have the same object, so that it must not be changed. */
export function isShared(company: object): boolean {
  return shared.has(company);
}

export class CompanyTexts {
  readonly #companies = new LruMap<string, JsonObject>(MAX_CHARACTERS);

  /** As `parseObject`. Rows whose last member is the same company share its object. */
  readonly parse = (text: string): JsonObject | string => {
    const at = text.lastIndexOf(COMPANY);
    if (at === -1 || !text.endsWith('}') || !MEMBER_END.test(text[at - 1] ?? '')) return parseObject(text);
    const companyText = text.slice(at + COMPANY.length - 1, -1);
    const company = this.#companies.get(companyText) ?? this.#added(companyText);
    // When both parts are objects by themselves, the company is a member of the row, and its last one.
    const row = company === null ? '' : parseObject(`${text.slice(0, at)}}`);
    if (typeof row === 'string') return parseObject(text);
    row['company'] = company;
    return row;
  };

  #added(text: string): JsonObject | null {
    const company = parseObject(text);
    if (typeof company === 'string') return null;
    shared.add(company);
    this.#companies.set(ownText(text), company, text.length);
    return company;
  }
}
