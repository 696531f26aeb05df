/** Use case: reveals a contact, with address and mobile number. */
import type { EndpointAnswer } from '../calls/endpoint.ts';
import { freshVerdict, VERDICT_CREDITS, type FreshVerdictDependencies } from './fresh-verdict.ts';
import { findPerson, PERSON_FORMS, readLookup, type PersonLookup } from './find-person.ts';
import { REVEAL_BODY } from './reveal-operation.ts';
import { completePerson, type CompleteRecord } from '../records/whole-record.ts';
import type { Named } from '../store/identity/named-people.ts';
import { BodyReader } from '../http/body-reader.ts';
import { isEmpty } from '../http/values.ts';

/** Fields that only reveal shows, for a credit. */
const REVEALED = ['email', 'emails', 'personal_emails', 'mobile', 'phones'] as const;

/**
 * Costs one credit when there is something to reveal, and one more for a fresh verdict on the address. The verdict `unknown` is free.
 * Answers at once, unless it has to wait for a verdict.
 * @throws ServiceError
 */
export function revealOne(dependencies: FreshVerdictDependencies, body: unknown): EndpointAnswer | Promise<EndpointAnswer> {
  const { lookup, withMobile, verify } = readRequest(body);
  const { row, match } = findPerson(dependencies.directory, lookup);
  const person = completePerson(row.person, match);
  if (!withMobile) Object.assign(person, { mobile: null, phones: null });
  const email = typeof person['email'] === 'string' ? person['email'] : null;
  const credits = REVEALED.some((field) => !isEmpty(person[field])) ? 1 : 0;
  const company = dependencies.directory.companyOf(row);
  const named = { people: [row.id] };
  if (!verify || email === null) return answer(person, email, company, credits, named);
  return freshVerdict(dependencies, email).then((verdict) =>
    answer(Object.assign(person, verdict), email, company, credits + (verdict === null ? 0 : VERDICT_CREDITS), named),
  );
}

function answer(person: CompleteRecord, email: string | null, company: string | null, credits: number, named: Named): EndpointAnswer {
  const { emails, phones, mobile } = person;
  if (isEmpty(emails)) person['emails'] = email === null ? [] : [{ email, type: person['email_type'], status: person['email_status'] }];
  if (isEmpty(phones)) person['phones'] = typeof mobile === 'string' ? [{ number: mobile, type: 'mobile' }] : [];
  const text = `${JSON.stringify({ ...person, credits_charged: credits }).slice(0, -1)},"company":${company ?? 'null'}}`;
  return { status: 200, text, credits, named };
}

function readRequest(body: unknown): { lookup: Exclude<PersonLookup, { by: 'domain' }>; withMobile: boolean; verify: boolean } {
  const reader = new BodyReader(body, REVEAL_BODY);
  const lookup = readLookup(reader, PERSON_FORMS);
  const withMobile = reader.get('reveal_mobile') ?? true;
  const verify = reader.get('verify') ?? false;
  reader.finish();
  // `finish` has thrown unless there is one good lookup, and PERSON_FORMS has none by domain alone.
  return { lookup: lookup as Exclude<PersonLookup, { by: 'domain' }>, withMobile, verify };
}
