/** Who talks to which mail host now: conversations are shared by a batch, and no provider gets more of them than is polite. */
import type { MailHost } from '../dns/mail-routes.ts';
import { providerOf } from '../dns/provider.ts';
import { SmtpFailure } from './connection.ts';
import { HostCircuits } from './host-circuits.ts';
import { SessionFailure, SmtpSession } from './session.ts';
import type { SmtpSettings } from './settings.ts';

/** RCPT commands after which a conversation is ended rather than handed on. */
const MAX_ASKED = 100;
/** How long a conversation that nobody needs is kept for the next who does. */
const IDLE_MS = 1_000;
/** Addresses of one host and one family that are tried: IPv4 first, then IPv6. */
const MAX_ADDRESSES = 2;

/** Providers that are remembered at most; those that nobody needs are forgotten then. */
const MAX_PROVIDERS = 10_000;

interface Waiter {
  readonly host: MailHost;
  readonly signal: AbortSignal;
  readonly resolve: (session: SmtpSession) => void;
  readonly reject: (error: unknown) => void;
  readonly stop: () => void;
}

interface Idle {
  readonly session: SmtpSession;
  readonly timer: NodeJS.Timeout;
}

/** Whoever waits for one provider waits for no other: each event looks at one queue, not at all who wait. */
interface Provider {
  active: number;
  /** When the next conversation may begin, monotonic milliseconds. */
  nextMs: number;
  timer: NodeJS.Timeout | null;
  /** In the order in which they came. Where a host has an idle conversation, nobody waits for it. */
  readonly waiting: Set<Waiter>;
  readonly byHost: Map<string, Set<Waiter>>;
  readonly idle: Map<string, Idle[]>;
}

interface Place {
  readonly host: string;
  readonly provider: Provider;
}

export class Conversations {
  readonly #settings: SmtpSettings;
  readonly #clock: () => number;
  readonly #circuits: HostCircuits<SessionFailure>;
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
  }

  /** A conversation with `host`, to be given back with `release` or `discard`. @throws SessionFailure */
  acquire(host: MailHost, signal: AbortSignal): Promise<SmtpSession> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(new SessionFailure('connect', new SmtpFailure('stopped', 'stopped before its turn came')));
      if (signal.aborted || this.#stop.signal.aborted) return stop();
      const provider = this.#provider(providerOf(host.name));
      const idle = takeIdle(provider, host.name, (dead) => this.#end(dead));
      if (idle !== null) {
        idle.follow(AbortSignal.any([signal, this.#stop.signal]));
        return resolve(idle);
      }
      const waiter: Waiter = {
        host, signal, resolve, reject,
        stop: () => {
          leave(provider, waiter);
          stop();
        },
      };
      signal.addEventListener('abort', waiter.stop, { once: true });
      provider.waiting.add(waiter);
      provider.byHost.set(host.name, (provider.byHost.get(host.name) ?? new Set()).add(waiter));
      this.#pump(provider);
    });
  }

  /** Gives a conversation back that can go on. */
  release(session: SmtpSession): void {
    const { host, provider } = this.#placeOf(session);
    this.#circuits.succeeded(host);
    if (session.asked >= MAX_ASKED || this.#stop.signal.aborted) return this.discard(session);
    const [next] = provider.byHost.get(host) ?? [];
    if (next !== undefined) {
      leave(provider, next);
      session.follow(AbortSignal.any([next.signal, this.#stop.signal]));
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
  discard(session: SmtpSession, failure: SessionFailure | null = null): void {
    if (failure !== null && failure.failure.trouble !== 'stopped') this.#circuits.failed(this.#placeOf(session).host, failure);
    this.#end(session);
  }

  /** Ends all that is idle or waits; what is in use ends when it is given back. */
  close(): void {
    this.#stop.abort();
    for (const provider of this.#providers.values()) {
      for (const waiter of provider.waiting) waiter.stop();
      if (provider.timer !== null) clearTimeout(provider.timer);
      for (const session of idleOf(provider)) this.#end(session);
    }
  }

  /** Serves those who wait for a provider, in order, as far as the caps let it. */
  #pump(provider: Provider): void {
    const { conversationsPerProvider, conversations, perProviderPerSecond } = this.#settings;
    this.#held.delete(provider);
    for (const waiter of provider.waiting) {
      const resting = this.#circuits.rests(waiter.host.name);
      if (resting !== null) {
        leave(provider, waiter);
        waiter.reject(resting);
        continue;
      }
      const now = this.#clock();
      if (provider.nextMs > now) {
        provider.timer ??= setTimeout(() => {
          provider.timer = null;
          this.#pump(provider);
        }, provider.nextMs - now);
        return;
      }
      if (provider.active >= conversationsPerProvider && !this.#endSomeIdle([provider])) return;
      if (this.#active >= conversations && !this.#endSomeIdle(this.#withIdle)) {
        this.#held.add(provider);
        return;
      }
      provider.nextMs = now + 1000 / perProviderPerSecond;
      provider.active++;
      this.#active++;
      leave(provider, waiter);
      this.#begin(waiter, provider).catch((bug: unknown) => waiter.reject(bug));
    }
  }

  /** There may be room again under the cap on all conversations. */
  #pumpHeld(): void {
    for (const provider of this.#held) {
      this.#pump(provider);
      // Still no room for the first of them, nor for the others.
      if (this.#held.has(provider)) return;
    }
  }

  async #begin({ host, signal, resolve, reject }: Waiter, provider: Provider): Promise<void> {
    let last = new SessionFailure('connect', new SmtpFailure('unreachable', 'it has no address'));
    const tried = ([4, 6] as const).flatMap((family) => host.addresses.filter((address) => address.family === family).slice(0, MAX_ADDRESSES));
    for (const { address } of tried) {
      try {
        const session = await SmtpSession.open({ host: host.name, address }, this.#settings, AbortSignal.any([signal, this.#stop.signal]));
        this.#places.set(session, { host: host.name, provider });
        resolve(session);
        return;
      } catch (error) {
        if (!(error instanceof SessionFailure)) throw error;
        last = error;
        if (signal.aborted || this.#stop.signal.aborted) break;
      }
    }
    if (!signal.aborted && !this.#stop.signal.aborted) this.#circuits.failed(host.name, last);
    reject(last);
    this.#free(provider);
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
    this.#placeOf(session).provider.active--;
    this.#active--;
  }

  #end(session: SmtpSession): void {
    session.quit();
    this.#free(this.#placeOf(session).provider);
  }

  #free(provider: Provider): void {
    provider.active--;
    this.#active--;
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
    const provider: Provider = { active: 0, nextMs: 0, timer: null, waiting: new Set(), byHost: new Map(), idle: new Map() };
    this.#providers.set(name, provider);
    return provider;
  }

  #forget(): void {
    const now = this.#clock();
    for (const [name, { active, waiting, nextMs }] of this.#providers) if (active === 0 && waiting.size === 0 && nextMs <= now) this.#providers.delete(name);
  }
}

/** No longer waits. */
function leave(provider: Provider, waiter: Waiter): void {
  waiter.signal.removeEventListener('abort', waiter.stop);
  provider.waiting.delete(waiter);
  const others = provider.byHost.get(waiter.host.name);
  others?.delete(waiter);
  if (others?.size === 0) provider.byHost.delete(waiter.host.name);
}

/** A conversation with `host` that nobody uses; those that have ended meanwhile are given to `drop`. */
function takeIdle(provider: Provider, host: string, drop: (session: SmtpSession) => void): SmtpSession | null {
  for (;;) {
    const idle = provider.idle.get(host)?.[0];
    if (idle === undefined) return null;
    removeIdle(provider, host, idle.session);
    if (idle.session.usable) return idle.session;
    drop(idle.session);
  }
}

function removeIdle(provider: Provider, host: string, session: SmtpSession): void {
  const left = (provider.idle.get(host) ?? []).filter((idle) => {
    if (idle.session === session) clearTimeout(idle.timer);
    return idle.session !== session;
  });
  if (left.length === 0) provider.idle.delete(host);
  else provider.idle.set(host, left);
}

/** All of them, taken out. */
function idleOf(provider: Provider): SmtpSession[] {
  const all = [...provider.idle.values()].flat();
  for (const { timer } of all) clearTimeout(timer);
  provider.idle.clear();
  return all.map(({ session }) => session);
}
