/** POST /v1/contacts/reveal, declared. */
import { LOOKUP_FIELDS, PERSON_FORMS } from './find-person.ts';
import type { Operation } from '../http/operation.ts';
import { ref, type Body } from '../http/body-schema.ts';

export const REVEAL_BODY = {
  forms: PERSON_FORMS,
  properties: {
    ...LOOKUP_FIELDS,
    reveal_mobile: { type: 'boolean', default: true, description: '`false` leaves out the numbers.', examples: [true] },
    verify: {
      type: 'boolean',
      default: false,
      description: 'Asks for a fresh verdict on the address, for one more credit when there is one; waits up to 20 seconds for it.',
      examples: [true],
    },
  },
} as const satisfies Body;

export const REVEAL: Operation = {
  id: 'revealContact',
  method: 'POST',
  path: '/v1/contacts/reveal',
  tag: 'Contacts',
  summary: 'Reveal address and mobile number',
  description:
    'Give `linkedin_url`, `id`, `email`, `phone`, or `name` with `domain` or `company`. ' +
    'One credit when there is an address or a number to reveal; a miss is free.',
  body: { name: 'RevealRequest', declared: REVEAL_BODY },
  answers: { 200: { description: 'The contact with its address and number.', content: { 'application/json': ref('RevealedContact') } } },
  problems: ['insufficient_credits', 'no_match', 'suppressed_person'],
  examples: [{ name: 'by_profile', summary: 'By profile', body: { linkedin_url: 'https://profiles.example/in/imani-irving-1001' } }],
};
