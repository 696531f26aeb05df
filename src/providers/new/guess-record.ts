/** Guesses which field of an answer is which field of our record. Pure. */
import { COMPANY_FIELDS, PERSON_FIELDS, VERDICT_FIELDS, type FieldTable } from '../../client/answer-fields.ts';
import { specOf } from '../../steps/registry.ts';
import type { OperationName } from '../compiled-provider.ts';
import { bare } from './guess-input.ts';
import type { Field } from './schema-fields.ts';

export interface GuessedField {
  /** Ours, such as `email` or `company.name`. */
  readonly name: string;
  /** JSONata. */
  readonly expression: string;
}

export interface GuessedRecord {
  readonly fields: readonly GuessedField[];
  /** The paths that no field of ours takes. */
  readonly others: readonly string[];
}

interface Target {
  readonly name: string;
  /** Names of a vendor, lower case without separators, the likeliest first. */
  readonly names: string;
  readonly type: 'text' | 'number' | 'boolean' | 'list';
  /** The words around the field that must be there, such as those of a company. */
  readonly within?: RegExp;
  readonly outside?: RegExp;
}

const COMPANY = /compan|organi[sz]ation|employer|employment|business/i;
/** Fields of something else that have the same names. */
const ASIDE =
  /^(?:meta|paging|pagination|request|input|query|params?|error|errors|credits?|account|.*(?:history|previous|past|education).*)$/i;

const PERSON: readonly Target[] = [
  { name: 'email', names: 'workemail professionalemail businessemail email emailaddress mail', type: 'text', outside: COMPANY },
  { name: 'email_status', names: 'emailstatus emailstate verificationstatus', type: 'text' },
  { name: 'name', names: 'fullname name personname', type: 'text', outside: COMPANY },
  { name: 'first_name', names: 'firstname givenname', type: 'text' },
  { name: 'last_name', names: 'lastname familyname surname', type: 'text' },
  { name: 'title', names: 'jobtitle currentjobtitle title position role', type: 'text' },
  { name: 'headline', names: 'headline', type: 'text' },
  { name: 'seniority', names: 'seniority joblevel senioritylevel', type: 'text' },
  { name: 'department', names: 'department jobfunction', type: 'text' },
  { name: 'mobile', names: 'mobile mobilephone mobilenumber phone phonenumber', type: 'text', outside: COMPANY },
  { name: 'linkedin_url', names: 'linkedinurl linkedin linkedinprofile linkedinprofileurl profileurl', type: 'text', outside: COMPANY },
  { name: 'company.name', names: 'companyname jobcompanyname organizationname company organization', type: 'text' },
  { name: 'company.name', names: 'name', type: 'text', within: COMPANY },
  { name: 'company.domain', names: 'companydomain companywebsite organizationdomain', type: 'text' },
  { name: 'company.domain', names: 'domain website primarydomain', type: 'text', within: COMPANY },
  { name: 'company.employees', names: 'employees employeecount headcount size companysize', type: 'number' },
  { name: 'company.industry', names: 'industry companyindustry', type: 'text' },
  { name: 'company.linkedin_url', names: 'linkedinurl linkedin', type: 'text', within: COMPANY },
];

const OF_COMPANY: readonly Target[] = [
  { name: 'name', names: 'name companyname displayname', type: 'text' },
  { name: 'legal_name', names: 'legalname', type: 'text' },
  { name: 'domain', names: 'domain website primarydomain websiteurl', type: 'text' },
  { name: 'employees', names: 'employees employeecount headcount estimatednumemployees size', type: 'number' },
  { name: 'employees_range', names: 'employeesrange employeerange sizerange companysize size', type: 'text' },
  { name: 'revenue', names: 'revenue annualrevenue', type: 'text' },
  { name: 'revenue_usd', names: 'annualrevenue revenue', type: 'number' },
  { name: 'industry', names: 'industry', type: 'text' },
  { name: 'description', names: 'description shortdescription about', type: 'text' },
  { name: 'founded_year', names: 'foundedyear founded yearfounded', type: 'number' },
  { name: 'phone', names: 'phone phonenumber', type: 'text' },
  { name: 'linkedin_url', names: 'linkedinurl linkedin', type: 'text' },
  { name: 'stack', names: 'technologies tech stack', type: 'list' },
  { name: 'keywords', names: 'keywords tags specialties', type: 'list' },
];

const VERDICT: readonly Target[] = [
  { name: 'email', names: 'email address emailaddress', type: 'text' },
  { name: 'result', names: 'result verdict emailstate status state emailstatus deliverability verificationstatus quality', type: 'text' },
  { name: 'reason', names: 'reason substatus emailsubstate subresult statusdetail', type: 'text' },
  { name: 'confidence', names: 'confidence score qualityscore', type: 'number' },
  { name: 'did_you_mean', names: 'didyoumean suggestion autocorrect suggestedcorrection', type: 'text' },
];
const TARGETS: ReadonlyMap<FieldTable, readonly Target[]> = new Map([
  [PERSON_FIELDS, PERSON],
  [COMPANY_FIELDS, OF_COMPANY],
  [VERDICT_FIELDS, VERDICT],
]);
/** A verdict that is true or false. */
const IS_VALID = /^(?:is)?(?:valid|deliverable|safe|safetosend)$/;

const WORDS: readonly (readonly [result: string, pattern: RegExp])[] = [
  ['undeliverable', /^(?:undeliverable|invalid|emailinvalid|notvalid|bad|bounce|rejected|nonexistent|no)$/],
  ['deliverable', /^(?:deliverable|valid|ok|emailok|safe|good|verified|exists|yes)$/],
  ['risky', /catchall|acceptall|risky|disposable|role|spam|abuse|webmail|donotmail/],
  ['unknown', /unknown|unverif|timeout|greylist|pending/],
];
const USUAL_WORDS = ['valid', 'invalid', 'deliverable', 'undeliverable', 'risky', 'catch_all', 'accept_all', 'unknown'];

export function guessRecord(fields: readonly Field[], operation: OperationName): GuessedRecord {
  const { fields: ours, verdicts } = specOf(operation);
  const targets = TARGETS.get(ours) ?? [];
  const usable = fields.filter(({ names }) => !names.slice(0, -1).some((name) => ASIDE.test(name)));
  const taken = new Map<string, Field>();
  for (const target of targets) {
    if (taken.has(target.name)) continue;
    const found = bestOf(usable, target, [...taken.values()]);
    if (found !== null) taken.set(target.name, found);
  }
  const guessed = [...taken].map(([name, field]) => ({ name, expression: name === 'result' ? verdictOf(field) : field.path }));
  const isValid = usable.find(({ names, type }) => type === 'boolean' && IS_VALID.test(bare(names.at(-1) ?? '')));
  if (verdicts !== null && !taken.has('result') && isValid !== undefined) {
    taken.set('result', isValid);
    guessed.push({ name: 'result', expression: `${isValid.path} ? 'deliverable' : 'undeliverable'` });
  }
  const used = new Set([...taken.values()].map(({ path }) => path));
  return { fields: guessed, others: fields.filter(({ path }) => !used.has(path)).map(({ path }) => path) };
}

/** The likeliest name first, then the one nearest to the top. */
function bestOf(fields: readonly Field[], { names, type, within, outside }: Target, taken: readonly Field[]): Field | null {
  const likely = names.split(' ');
  const candidates = fields.filter((field) => {
    const around = field.names.slice(0, -1).join(' ');
    if (taken.includes(field) || !fits(field, type)) return false;
    if (within !== undefined && !within.test(around)) return false;
    if (outside !== undefined && outside.test(around)) return false;
    return likely.includes(bare(field.names.at(-1) ?? ''));
  });
  const rank = (field: Field): number => likely.indexOf(bare(field.names.at(-1) ?? '')) * 10 + field.names.length;
  return candidates.toSorted((a, b) => rank(a) - rank(b))[0] ?? null;
}

function fits({ type }: Field, wanted: Target['type']): boolean {
  return type === wanted || type === 'any';
}

/** Our word for each word of the vendor; other words stay as they are. */
function verdictOf({ path, words }: Field): string {
  const known = words.length === 0 ? USUAL_WORDS : words;
  const grouped = new Map<string, string[]>();
  for (const word of known) {
    const result = WORDS.find(([, pattern]) => pattern.test(bare(word)))?.[0];
    if (result !== undefined) grouped.set(result, [...(grouped.get(result) ?? []), word]);
  }
  const cases = [...grouped].map(([result, own]) => {
    const quoted = own.map((word) => `'${word.replaceAll(/['\\\p{C}]/gu, '')}'`);
    return `${path} ${quoted.length === 1 ? `= ${quoted.join('')}` : `in [${quoted.join(', ')}]`} ? '${result}'`;
  });
  return [...cases, path].join(' :\n');
}
