/** Looks where the name in an address leads when a webhook is made: each attempt looks again, so what is not known yet may come. */
import { setTimeout } from 'node:timers/promises';
import type { Resolver } from '../../verification/dns/resolver.ts';
import { ServiceError } from '../errors.ts';
import { addressesOf, NoWay } from './reach.ts';
import { Slots } from './slots.ts';
import { hostOf } from './url.ts';

/** How long DNS is waited for, milliseconds. */
const WITHIN_MS = 3_000;
/** Looked up at once: names that are delivered to, and mail servers, are asked for by the same resolver. */
const LOOKUPS = { most: 32, mostAHost: 16 } as const;

export interface NameCheckOptions {
  readonly isDevelopment: boolean;
  readonly resolver: Pick<Resolver, 'addresses'>;
}

export class NameCheck {
  readonly #options: NameCheckOptions;
  readonly #slots = new Slots(LOOKUPS);

  constructor(options: NameCheckOptions) {
    this.#options = options;
  }

  /** How many more may be looked up at once. */
  get room(): number {
    return this.#slots.room;
  }

  /** @param url a good one (`urlProblem`) @throws ServiceError naming `/url` when DNS knows of an address that may not be called */
  async refuseUnreachable(keyId: string, url: string): Promise<void> {
    const { isDevelopment, resolver } = this.#options;
    const host = hostOf(new URL(url));
    const lane = { keyId, host };
    if (isDevelopment || this.#slots.free(lane) === 0) return;
    this.#slots.take(lane);
    // A name whose servers are silent is asked for longer than anybody waits.
    const looked = addressesOf(host, resolver).finally(() => this.#slots.giveBack(lane, true));
    try {
      await Promise.race([looked, setTimeout(WITHIN_MS, undefined, { ref: false })]);
    } catch (error) {
      if (!(error instanceof NoWay)) throw error;
      if (error.code === 'refused_address') throw refused();
    }
  }
}

function refused(): ServiceError {
  const detail = 'url leads to an address that is not on the Internet; those of your own are sent to only by `serve --development`';
  return new ServiceError('validation_failed', detail, { errors: [{ pointer: '/url', code: 'private_address', detail }] });
}
