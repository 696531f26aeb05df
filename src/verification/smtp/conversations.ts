/** Who talks to which mail host now: conversations are shared by a batch, and no provider gets more of them than is polite. */
import type { MailHost } from '../dns/mail-routes.ts';
import { providerOf } from '../dns/provider.ts';
import { SmtpFailure } from './connection.ts';
import { HostCircuits } from './host-circuits.ts';
import { HostManners } from './host-manners.ts';
import { allIdle, count, join, leave, newProvider, removeIdle, takeIdle, type Provider, type Waiter } from './provider-queue.ts';
import { Reachability } from './reachability.ts';
import { SessionFailure, SmtpSession } from './session.ts';
import type { SmtpSettings } from './settings.ts';
import { tryAddresses } from './try-addresses.ts';

/** How long a conversation that nobody needs is kept for the next who does. */
const IDLE_MS = 1_000;
/** Times that a host which answers others may refuse somebody a conversation. */
const MAX_REFUSED = 5;
/**
 * RCPT commands of the probe: two strangers, and perhaps one who was accepted before. A conversation with less room is over:
 * kept, it would be handed out for a probe that it has no room for, again and again.
 */
export const PROBE_RECIPIENTS = 3;
/** Providers that are remembered at most; those that nobody needs are forgotten then. */
const MAX_PROVIDERS = 10_000;

interface Place {
  readonly host: string;
  readonly provider: Provider;
  /** Answers that the conversation had given when it changed hands. */
  answered: number;
}

export class Conversations {
  readonly #settings: SmtpSettings;
  readonly #clock: () => number;
  readonly #circuits: HostCircuits<SessionFailure>;
  readonly #manners: HostManners;
  readonly #reachability: Reachability;
  readonly #providers = new Map<string, Provider>();
  readonly #places = new WeakMap<SmtpSession, Place>();
  readonly #stop = new AbortController();
  /** Providers whose waiters only the cap on all conversations keeps back. */
  readonly #held = new Set<Provider>();
  /** Those that may have idle conversations. */
  readonly #withIdle = new Set<Provider>();
  #active = 0;

  /** @param clock monotonic, milliseconds. */
  constructor(settings: SmtpSettings, clock: () => number) {
    this.#settings = settings;
    this.#clock = clock;
    this.#circuits = new HostCircuits(clock);
    this.#manners = new HostManners(clock);
    this.#reachability = new Reachability(clock);
  }

  /**
   * A conversation with `host`, to be asked about `domain` first, to be given back with `release` or `discard`.
   * @param signal ends it. @param needed ends the waiting for it; aborts with `signal` at the latest. @throws SessionFailure
   */
  acquire(host: MailHost, domain: string, signal: AbortSignal, needed: AbortSignal = signal): Promise<SmtpSession> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(new SessionFailure('connect', new SmtpFailure('stopped', 'stopped before its turn came')));
      if (needed.aborted || this.#stop.signal.aborted) return stop();
      const provider = this.#provider(providerOf(host.name));
      const idle = takeIdle(provider, host.name, (dead) => this.#end(dead));
      if (idle !== null) {
        this.#handOver(idle, signal);
        return resolve(idle);
      }
      const waiter: Waiter = {
        host, domain, signal, needed, resolve, reject,
        stop: () => {
          leave(provider, waiter);
          stop();
        },
        refused: 0,
      };
      join(provider, waiter);
      this.#pump(provider);
    });
  }

  /** Whether `host` answered anybody not long ago. */
  isAlive({ name }: MailHost): boolean {
    return this.#manners.isAlive(name);
  }

  /** How many more recipients the conversation may ask about; 0: it is to be released. */
  roomIn(session: SmtpSession): number {
    return Math.max(0, this.#manners.mostAsked(this.#placeOf(session).host) - session.asked);
  }

  /** Gives a conversation back that can go on. */
  release(session: SmtpSession): void {
    const { host, provider } = this.#placeOf(session);
    this.#circuits.succeeded(host);
    this.#manners.wentWell(host);
    if (this.roomIn(session) < PROBE_RECIPIENTS || this.#stop.signal.aborted) return this.#end(session);
    const [next] = provider.byHost.get(host) ?? [];
    if (next !== undefined) {
      leave(provider, next);
      this.#handOver(session, next.signal);
      next.resolve(session);
      return;
    }
    session.follow(this.#stop.signal);
    const timer = setTimeout(() => {
      removeIdle(provider, host, session);
      this.#end(session);
    }, IDLE_MS);
    provider.idle.set(host, [...(provider.idle.get(host) ?? []), { session, timer }]);
    this.#withIdle.add(provider);
    this.#pump(provider);
    this.#pumpHeld();
  }

  /** Ends a conversation; `failure`: the host ended it, or made no sense. */
  discard(session: SmtpSession, failure: SessionFailure | null): void {
    if (failure !== null && failure.failure.trouble !== 'stopped') {
      const { host, answered } = this.#placeOf(session);
      // One that ended while nobody used it ended by nobody's fault; one that ended after answers asks for shorter ones.
      if (session.answered === 0) this.#circuits.failed(host, failure);
      else if (session.answered > answered || failure.failure.reply !== null) this.#manners.brokeOff(host, session.answered);
    }
    this.#end(session);
  }

  /** Ends all that is idle or waits; what is in use ends when it is given back. */
  close(): void {
    this.#stop.abort();
    for (const provider of this.#providers.values()) {
      for (const waiter of provider.waiting) waiter.stop();
      if (provider.wake !== null) clearTimeout(provider.wake.timer);
      for (const session of allIdle(provider)) this.#end(session);
    }
  }

  #handOver(session: SmtpSession, signal: AbortSignal): void {
    this.#placeOf(session).answered = session.answered;
    session.follow(AbortSignal.any([signal, this.#stop.signal]));
  }

  /** Serves those who wait for a provider, in order, as far as the caps let it. */
  #pump(provider: Provider): void {
    const { conversationsPerProvider, conversations, perProviderPerSecond } = this.#settings;
    this.#held.delete(provider);
    for (const waiter of provider.waiting) {
      const { name } = waiter.host;
      const hopeless = this.#reachability.trouble() ?? this.#circuits.rests(name);
      if (hopeless !== null) {
        leave(provider, waiter);
        waiter.reject(hopeless);
        continue;
      }
      const now = this.#clock();
      if (provider.nextMs > now) return this.#wakeIn(provider, provider.nextMs - now);
      if ((provider.open.get(name) ?? 0) >= this.#manners.mostOpen(name)) continue;
      const waitMs = this.#manners.waitMs(name);
      if (waitMs > 0) {
        this.#wakeIn(provider, waitMs);
        continue;
      }
      if (provider.active >= conversationsPerProvider && !this.#endSomeIdle([provider])) return;
      if (this.#active >= conversations && !this.#endSomeIdle(this.#withIdle)) {
        this.#held.add(provider);
        return;
      }
      provider.nextMs = now + 1000 / perProviderPerSecond;
      count(provider, name, 1);
      this.#active++;
      leave(provider, waiter);
      this.#begin(waiter, provider).catch((bug: unknown) => waiter.reject(bug));
    }
  }

  #wakeIn(provider: Provider, ms: number): void {
    const atMs = this.#clock() + ms;
    if (provider.wake !== null) {
      if (provider.wake.atMs <= atMs) return;
      clearTimeout(provider.wake.timer);
    }
    const timer = setTimeout(() => {
      provider.wake = null;
      this.#pump(provider);
    }, ms);
    provider.wake = { timer, atMs };
  }

  /** There may be room again under the cap on all conversations. */
  #pumpHeld(): void {
    for (const provider of this.#held) {
      this.#pump(provider);
      // Still no room for the first of them, nor for the others.
      if (this.#held.has(provider)) return;
    }
  }

  async #begin(waiter: Waiter, provider: Provider): Promise<void> {
    const { host, domain, signal, needed, resolve, reject } = waiter;
    const stop = AbortSignal.any([needed, this.#stop.signal, this.#reachability.signal]);
    const begunMs = this.#clock();
    const last = await tryAddresses(host, domain, this.#settings, this.#reachability, stop);
    if (last instanceof SmtpSession) {
      this.#places.set(last, { host: host.name, provider, answered: 0 });
      this.#handOver(last, signal);
      resolve(last);
      return;
    }
    count(provider, host.name, -1);
    this.#active--;
    const blocked = this.#reachability.trouble();
    if (needed.aborted || this.#stop.signal.aborted) {
      this.#cutOff(host.name, this.#clock() - begunMs);
      reject(last);
    } else if (blocked !== null) reject(blocked);
    else if (this.#isFull(host.name, provider, last) && waiter.refused++ < MAX_REFUSED) {
      this.#manners.refusedAnother(host.name, provider.open.get(host.name) ?? 0);
      join(provider, waiter);
    } else {
      this.#circuits.failed(host.name, last);
      reject(last);
    }
    this.#pumpAfterEnd(provider);
  }

  /** Nobody waited any longer. When all whose time is up come to no end of a host, none of them would come to the next: it counts as having failed. */
  #cutOff(host: string, tookMs: number): void {
    if (tookMs < this.#settings.connectMs || this.#manners.isAlive(host)) return;
    this.#circuits.failed(host, new SessionFailure('connect', new SmtpFailure('timeout', `no conversation within ${Math.round(tookMs)} ms`)));
  }

  /** Whether the host, which talks to us, only wants fewer conversations or later ones: it did not refuse us for good. */
  #isFull(host: string, provider: Provider, { failure }: SessionFailure): boolean {
    return (provider.open.has(host) || this.#manners.isAlive(host)) && (failure.reply === null || failure.reply.code < 500);
  }

  /** Makes room by ending a conversation that nobody uses; false when there is none. */
  #endSomeIdle(providers: Iterable<Provider>): boolean {
    for (const provider of providers) {
      const [host] = provider.idle.keys();
      const session = host === undefined ? null : takeIdle(provider, host, (dead) => this.#quit(dead));
      if (provider.idle.size === 0) this.#withIdle.delete(provider);
      if (session === null) continue;
      this.#quit(session);
      return true;
    }
    return false;
  }

  /** Ends a conversation without looking who could take its place. */
  #quit(session: SmtpSession): void {
    session.quit();
    const { host, provider } = this.#placeOf(session);
    count(provider, host, -1);
    this.#active--;
  }

  #end(session: SmtpSession): void {
    this.#quit(session);
    this.#pumpAfterEnd(this.#placeOf(session).provider);
  }

  #pumpAfterEnd(provider: Provider): void {
    if (this.#stop.signal.aborted) return;
    this.#pump(provider);
    this.#pumpHeld();
  }

  #placeOf(session: SmtpSession): Place {
    const place = this.#places.get(session);
    if (place === undefined) throw new Error('a conversation that was not begun here');
    return place;
  }

  #provider(name: string): Provider {
    const known = this.#providers.get(name);
    if (known !== undefined) return known;
    if (this.#providers.size >= MAX_PROVIDERS) this.#forget();
    const provider = newProvider();
    this.#providers.set(name, provider);
    return provider;
  }

  #forget(): void {
    const now = this.#clock();
    for (const [name, { active, waiting, nextMs }] of this.#providers) if (active === 0 && waiting.size === 0 && nextMs <= now) this.#providers.delete(name);
  }
}
