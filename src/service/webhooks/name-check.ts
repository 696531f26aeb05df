/** Resolves the host of a webhook when its URL is set. Each attempt resolves again, so a name that DNS does not know is accepted. */
import { setTimeout } from 'node:timers/promises';
import type { Resolver } from '../../verification/dns/resolver.ts';
import { ServiceError } from '../http/problem.ts';
import { publicAddressesOf, UnreachableHost } from './ssrf-guard.ts';
import { ConcurrencySlots } from './concurrency.ts';
import { hostOf } from './url.ts';

/** Time limit for DNS, milliseconds. */
const DNS_TIMEOUT_MS = 3_000;
/** Limits of concurrent lookups: deliveries and mail checks share the resolver. */
const LOOKUPS = { total: 32, perHost: 16 } as const;

interface NameCheckOptions {
  readonly isDevelopment: boolean;
  readonly resolver: Pick<Resolver, 'addresses'>;
}

export class NameCheck {
  readonly #options: NameCheckOptions;
  readonly #slots = new ConcurrencySlots(LOOKUPS);

  constructor(options: NameCheckOptions) {
    this.#options = options;
  }

  /** The number of free lookup slots. */
  get available(): number {
    return this.#slots.available;
  }

  /** @param url has passed `urlProblem` @throws ServiceError naming `/url` when it resolves to a refused address */
  async refuseUnreachable(keyId: string, url: string): Promise<void> {
    const { isDevelopment, resolver } = this.#options;
    const host = hostOf(new URL(url));
    const destination = { keyId, host };
    if (isDevelopment || this.#slots.freeFor(destination) === 0) return;
    this.#slots.acquire(destination);
    // After the time limit the lookup goes on in the background and holds its slot.
    const lookup = publicAddressesOf(host, resolver).finally(() => this.#slots.release(destination, true));
    try {
      await Promise.race([lookup, setTimeout(DNS_TIMEOUT_MS, undefined, { ref: false })]);
    } catch (error) {
      if (!(error instanceof UnreachableHost)) throw error;
      if (error.code === 'refused_address') throw refused();
    }
  }
}

function refused(): ServiceError {
  const detail = 'url leads to an address that is not on the Internet; those of your own are sent to only by `serve --development`';
  return new ServiceError('validation_failed', detail, { errors: [{ pointer: '/url', code: 'private_address', detail }] });
}
