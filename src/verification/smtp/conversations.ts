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

interface Provider {
  active: number;
  /** When the next conversation may begin, monotonic milliseconds. */
  nextMs: number;
}

export class Conversations {
  readonly #settings: SmtpSettings;
  readonly #clock: () => number;
  readonly #circuits: HostCircuits<SessionFailure>;
  readonly #providers = new Map<string, Provider>();
  readonly #idle = new Map<string, Idle[]>();
  readonly #hostOf = new WeakMap<SmtpSession, string>();
  readonly #stop = new AbortController();
  #waiters: Waiter[] = [];
  #active = 0;
  #timer: NodeJS.Timeout | null = null;

  /** @param clock monotonic, milliseconds. */
  constructor(settings: SmtpSettings, clock: () => number) {
    this.#settings = settings;
    this.#clock = clock;
    this.#circuits = new HostCircuits(clock);
  }

  /** A conversation with `host`, to be given back with `release` or `discard`. @throws SessionFailure */
  acquire(host: MailHost, signal: AbortSignal): Promise<SmtpSession> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(new SessionFailure('connect', new SmtpFailure('stopped', 'stopped before its turn came')));
      };
      const waiter: Waiter = { host, signal, resolve, reject, stop };
      if (signal.aborted) {
        stop();
        return;
      }
      signal.addEventListener('abort', stop, { once: true });
      this.#waiters.push(waiter);
      this.#pump();
    });
  }

  /** Gives a conversation back that can go on. */
  release(session: SmtpSession): void {
    const host = this.#hostOf.get(session) ?? '';
    this.#circuits.succeeded(host);
    if (session.asked >= MAX_ASKED || this.#stop.signal.aborted) return this.discard(session);
    session.follow(this.#stop.signal);
    const timer = setTimeout(() => this.#endIdle(host, session), IDLE_MS);
    this.#idle.set(host, [...(this.#idle.get(host) ?? []), { session, timer }]);
    this.#pump();
  }

  /** Ends a conversation; `failure`: the host ended it, or made no sense. */
  discard(session: SmtpSession, failure: SessionFailure | null = null): void {
    const host = this.#hostOf.get(session) ?? '';
    session.quit();
    if (failure !== null && failure.failure.trouble !== 'stopped') this.#circuits.failed(host, failure);
    this.#free(host);
    this.#pump();
  }

  /** Ends all that is idle or waits; what is in use ends when it is given back. */
  close(): void {
    this.#stop.abort();
    for (const waiter of this.#waiters.splice(0)) {
      waiter.signal.removeEventListener('abort', waiter.stop);
      waiter.stop();
    }
    for (const [host, idle] of this.#idle) for (const { session } of idle) this.#endIdle(host, session);
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Serves those who wait, in order, as far as the caps let it. */
  #pump(): void {
    const waiting = this.#waiters;
    this.#waiters = [];
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const waiter of waiting) {
      const waitMs = this.#serve(waiter);
      if (waitMs === null) continue;
      this.#waiters.push(waiter);
      soonestMs = Math.min(soonestMs, waitMs);
    }
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = Number.isFinite(soonestMs) ? setTimeout(() => this.#pump(), soonestMs) : null;
  }

  /** Null: served. Else how long to wait at least; infinite: until something else happens. */
  #serve(waiter: Waiter): number | null {
    const { host } = waiter;
    const idle = this.#takeIdle(host.name);
    if (idle !== null) {
      waiter.signal.removeEventListener('abort', waiter.stop);
      idle.follow(AbortSignal.any([waiter.signal, this.#stop.signal]));
      waiter.resolve(idle);
      return null;
    }
    const failure = this.#circuits.rests(host.name);
    if (failure !== null) {
      waiter.signal.removeEventListener('abort', waiter.stop);
      waiter.reject(failure);
      return null;
    }
    const name = providerOf(host.name);
    const provider = this.#providers.get(name) ?? { active: 0, nextMs: 0 };
    this.#providers.set(name, provider);
    if (provider.active >= this.#settings.conversationsPerProvider && !this.#endSomeIdle((other) => providerOf(other) === name)) return Number.POSITIVE_INFINITY;
    if (this.#active >= this.#settings.conversations && !this.#endSomeIdle(() => true)) return Number.POSITIVE_INFINITY;
    const now = this.#clock();
    if (provider.nextMs > now) return provider.nextMs - now;
    provider.nextMs = Math.max(now, provider.nextMs) + 1000 / this.#settings.perProviderPerSecond;
    provider.active++;
    this.#active++;
    this.#begin(waiter).catch((bug: unknown) => waiter.reject(bug));
    return null;
  }

  async #begin(waiter: Waiter): Promise<void> {
    const { host, signal } = waiter;
    signal.removeEventListener('abort', waiter.stop);
    let last = new SessionFailure('connect', new SmtpFailure('unreachable', 'it has no address'));
    const tried = ([4, 6] as const).flatMap((family) => host.addresses.filter((address) => address.family === family).slice(0, MAX_ADDRESSES));
    for (const { address } of tried) {
      try {
        const session = await SmtpSession.open({ host: host.name, address }, this.#settings, AbortSignal.any([signal, this.#stop.signal]));
        this.#hostOf.set(session, host.name);
        waiter.resolve(session);
        return;
      } catch (error) {
        if (!(error instanceof SessionFailure)) throw error;
        last = error;
        if (signal.aborted || this.#stop.signal.aborted) break;
      }
    }
    if (!signal.aborted && !this.#stop.signal.aborted) this.#circuits.failed(host.name, last);
    this.#free(host.name);
    waiter.reject(last);
    this.#pump();
  }

  #takeIdle(host: string): SmtpSession | null {
    const idle = this.#idle.get(host) ?? [];
    for (;;) {
      const found = idle.shift();
      if (idle.length === 0) this.#idle.delete(host);
      if (found === undefined) return null;
      clearTimeout(found.timer);
      if (found.session.usable) return found.session;
      this.#free(host);
    }
  }

  #endIdle(host: string, session: SmtpSession): void {
    const left = (this.#idle.get(host) ?? []).filter((idle) => {
      if (idle.session === session) clearTimeout(idle.timer);
      return idle.session !== session;
    });
    if (left.length === 0) this.#idle.delete(host);
    else this.#idle.set(host, left);
    session.quit();
    this.#free(host);
    if (!this.#stop.signal.aborted) this.#pump();
  }

  /** Makes room by ending a conversation that nobody uses; false when there is none with a host that is `fit`. */
  #endSomeIdle(fit: (host: string) => boolean): boolean {
    const host = [...this.#idle.keys()].find(fit);
    const session = host === undefined ? null : this.#takeIdle(host);
    if (host === undefined || session === null) return false;
    session.quit();
    this.#free(host);
    return true;
  }

  #free(host: string): void {
    this.#active--;
    const name = providerOf(host);
    const provider = this.#providers.get(name);
    if (provider === undefined) return;
    provider.active--;
    if (provider.active === 0 && provider.nextMs <= this.#clock()) this.#providers.delete(name);
  }
}
