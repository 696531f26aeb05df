/** POST /v1/contacts/reveal: a contact with address and mobile number. */
import type { Answer, Endpoint, ServiceContext } from '../context.ts';
import { freshVerdict, VERDICT_CREDITS } from '../fresh-verdict.ts';
import { findPerson, PERSON_FORMS, readLookup, type Lookup } from '../lookup.ts';
import { REVEAL_BODY } from '../operations/reveal.ts';
import { fillPerson } from '../records.ts';
import { BodyReader } from '../validate.ts';
import { isEmpty } from '../values.ts';

/** What is not shown elsewhere, and is paid for. */
const REVEALED = ['email', 'emails', 'personal_emails', 'mobile', 'phones'] as const;

/** A contact of whom there is something to reveal costs one, a fresh verdict on the address one more; a verdict that is `unknown` is free. */
export function revealEndpoint(context: Pick<ServiceContext, 'directory' | 'verifier' | 'evidence'>): Endpoint {
  return async (body, { call }): Promise<Answer> => {
    const { lookup, withMobile, verify } = readRequest(body);
    const { row, match } = findPerson(context.directory, lookup);
    const person = fillPerson(row.person, match);
    if (!withMobile) Object.assign(person, { mobile: null, phones: null });
    // Nothing was there to be revealed, so nothing was paid.
    if (call.replayed && call.missed.length > 0) for (const field of REVEALED) person[field] = null;
    const email = typeof person['email'] === 'string' ? person['email'] : null;
    let credits = REVEALED.some((field) => !isEmpty(person[field])) ? 1 : 0;
    if (credits === 0) call.missed = [0];
    if (verify && email !== null) {
      const verdict = await freshVerdict(context, call, email);
      Object.assign(person, verdict);
      if (verdict !== null) credits += VERDICT_CREDITS;
    }
    person['emails'] ??= email === null ? [] : [{ email, type: person['email_type'], status: person['email_status'] }];
    person['phones'] ??= typeof person['mobile'] === 'string' ? [{ number: person['mobile'], type: 'mobile' }] : [];
    const company = context.directory.companyOf(row);
    const text = `${JSON.stringify({ ...person, credits_charged: credits }).slice(0, -1)},"company":${company ?? 'null'}}`;
    return { status: 200, text, credits, again: true };
  };
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
