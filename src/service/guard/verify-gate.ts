/** The verifier, with a bound on the addresses that are looked into at once: each holds a result in memory until all of its request are there. */
import type { EmailVerification, VerifyRequest } from '../../verification/types.ts';
import type { Verifier } from '../../verification/verifier.ts';
import { ServiceError } from '../errors.ts';

const MOST_ADDRESSES = 50_000;
/** Seconds after which some will be done. */
const RETRY_S = '5';

export class VerifyGate {
  readonly #verifier: Pick<Verifier, 'verify'>;
  #addresses = 0;

  constructor(verifier: Pick<Verifier, 'verify'>) {
    this.#verifier = verifier;
  }

  /** Addresses that are being looked into. */
  get addresses(): number {
    return this.#addresses;
  }

  /** @throws ServiceError when there are too many already */
  async verify(emails: readonly string[], request: VerifyRequest): Promise<EmailVerification[]> {
    if (this.#addresses + emails.length > MOST_ADDRESSES) throw new ServiceError('overloaded', 'too many addresses are being verified', { headers: { 'retry-after': RETRY_S } });
    this.#addresses += emails.length;
    try {
      return await this.#verifier.verify(emails, request);
    } finally {
      this.#addresses -= emails.length;
    }
  }
}
