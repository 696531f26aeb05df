/** POST /v1/contacts/reveal: a contact with address and mobile number. */
import type { Answer, Endpoint } from '../context.ts';
import { freshVerdict, VERDICT_CREDITS, type Verifying } from '../fresh-verdict.ts';
import { findPerson, PERSON_FORMS, readLookup, type Lookup } from '../lookup.ts';
import { REVEAL_BODY } from '../operations/reveal.ts';
import { fillPerson, type Filled } from '../records.ts';
import { FORMER_EMAILS, FORMER_MOBILES, withoutFormer, type FormerKind } from '../store/former-keys.ts';
import type { Named } from '../store/named.ts';
import { BodyReader } from '../validate.ts';
import { isEmpty } from '../values.ts';

/** What is not shown elsewhere, and is paid for. */
const REVEALED = ['email', 'emails', 'personal_emails', 'mobile', 'phones'] as const;

export function revealEndpoint(context: Verifying): Endpoint {
  return (body) => revealOne(context, body);
}

/** A contact of whom there is something to reveal costs one, a fresh verdict on the address one more; a verdict that is `unknown` is free. At once, unless a verdict is to be waited for. @throws ServiceError */
export function revealOne(context: Verifying, body: unknown): Answer | Promise<Answer> {
  const { lookup, withMobile, verify } = readRequest(body);
  const { row, match } = findPerson(context.directory, lookup);
  const person = fillPerson(row.person, match);
  if (!withMobile) Object.assign(person, { mobile: null, phones: null });
  const email = typeof person['email'] === 'string' ? person['email'] : null;
  const credits = REVEALED.some((field) => !isEmpty(person[field])) ? 1 : 0;
  const company = context.directory.companyOf(row);
  const named = { people: [row.id] };
  if (!verify || email === null) return answer(person, email, company, credits, named);
  return freshVerdict(context, email).then((verdict) => answer(Object.assign(person, verdict), email, company, credits + (verdict === null ? 0 : VERDICT_CREDITS), named));
}

function answer(person: Filled, email: string | null, company: string | null, credits: number, named: Named): Answer {
  const { emails, phones, mobile } = person;
  person['emails'] = hasNoneGiven(FORMER_EMAILS, person) ? [...(email === null ? [] : [{ email, type: person['email_type'], status: person['email_status'] }]), ...listed(emails)] : emails;
  person['phones'] = hasNoneGiven(FORMER_MOBILES, person) ? [...(typeof mobile === 'string' ? [{ number: mobile, type: 'mobile' }] : []), ...listed(phones)] : phones;
  const text = `${JSON.stringify({ ...person, credits_charged: credits }).slice(0, -1)},"company":${company ?? 'null'}}`;
  return { status: 200, text, credits, named };
}

/** Whether a list has former ones at the most: then whoever takes its first is to have the main one. */
function hasNoneGiven(kind: FormerKind, person: Filled): boolean {
  return withoutFormer(kind, person).given.length === 0;
}

function listed(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
}

function readRequest(body: unknown): { lookup: Exclude<Lookup, { by: 'domain' }>; withMobile: boolean; verify: boolean } {
  const reader = new BodyReader(body, REVEAL_BODY);
  const lookup = readLookup(reader, PERSON_FORMS);
  const withMobile = reader.get('reveal_mobile') ?? true;
  const verify = reader.get('verify') ?? false;
  reader.finish();
  // `finish` has thrown unless there is one good lookup, and a domain alone is none.
  return { lookup: lookup as Exclude<Lookup, { by: 'domain' }>, withMobile, verify };
}
