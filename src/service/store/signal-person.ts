/** By what a signal names whom it is about. Pure. */
import { normaliseEmail } from '../../verification/address.ts';
import { phoneOf } from '../field-types.ts';
import type { SparseRecord } from '../records.ts';
import { textOrNull } from '../values.ts';
import { addressesOf } from './other-addresses.ts';
import { numbersOf } from './other-numbers.ts';

export interface NamedPerson {
  /** The main address; null: none. */
  readonly email: string | null;
  /** All of them, the main one first. */
  readonly addresses: readonly string[];
  /** Mobile numbers, E.164. */
  readonly mobiles: readonly string[];
}

export function namedBy(person: SparseRecord): NamedPerson {
  const email = normaliseEmail(textOrNull(person['email']) ?? '');
  return { email, addresses: addressesOf({ ...person, email }), mobiles: numbersOf({ ...person, mobile: phoneOf(person['mobile']) }, 'mobile') };
}
