/**
 * The verifier, with a limit of addresses at once: each holds a result in memory until all results of its request are there.
 */
import type { EmailVerification, VerifyRequest } from '../../verification/types.ts';
import type { Verifier } from '../../verification/verifier.ts';
import { ServiceError } from '../http/problem.ts';

const MOST_ADDRESSES = 50_000;
/** The `Retry-After` over the limit, seconds. */
const RETRY_S = '5';

export class VerifyGate {
  readonly #verifier: Pick<Verifier, 'verify'>;
  #addresses = 0;

  constructor(verifier: Pick<Verifier, 'verify'>) {
    this.#verifier = verifier;
  }

  /** Addresses in progress. */
  get addresses(): number {
    return this.#addresses;
  }

  /** @throws ServiceError over the limit */
  async verify(emails: readonly string[], request: VerifyRequest): Promise<EmailVerification[]> {
    if (this.#addresses + emails.length > MOST_ADDRESSES)
      throw new ServiceError('overloaded', 'too many addresses are being verified', { headers: { 'retry-after': RETRY_S } });
    this.#addresses += emails.length;
    try {
      return await this.#verifier.verify(emails, request);
    } finally {
      this.#addresses -= emails.length;
    }
  }
}
