/** The pool of SMTP conversations. Batches share them, under limits for each provider and in total. */
import type { MailHost } from '../dns/mail-routes.ts';
import { providerOf } from '../dns/provider.ts';
import { SmtpFailure } from './connection.ts';
import { HostCircuits } from './host-circuits.ts';
import { HostLimits } from './host-limits.ts';
import { allIdle, countOpen, join, leave, newProvider, removeIdle, takeIdle, type Provider, type Waiter } from './provider-queue.ts';
import { Reachability } from './reachability.ts';
import { SessionFailure, SmtpSession } from './session.ts';
import type { SmtpSettings } from './settings.ts';
import { tryAddresses } from './connect-any.ts';
import { present } from '../../util/assert.ts';

/** How long an idle conversation stays open for the next caller. */
const IDLE_MS = 1_000;
/** How often one caller retries a host that refuses another conversation while it answers in others. */
const MAX_REFUSALS = 5;
/**
 * RCPT commands of the accept-all probe: two random recipients, and perhaps one that was accepted before. A conversation with less room
 * ends, because it could never be used for a probe.
 */
export const PROBE_RECIPIENTS = 3;
/** Beyond this number, providers without conversations and waiters are forgotten. */
const MAX_PROVIDERS = 10_000;

interface Conversation {
  readonly host: string;
  readonly provider: Provider;
  /** The number of answers in the conversation when its present user got it. */
  answered: number;
}

export class Conversations {
  readonly #settings: SmtpSettings;
  readonly #clock: () => number;
  readonly #circuits: HostCircuits<SessionFailure>;
  readonly #limits: HostLimits;
  readonly #reachability: Reachability;
  readonly #providers = new Map<string, Provider>();
  readonly #conversations = new WeakMap<SmtpSession, Conversation>();
  readonly #stop = new AbortController();
  /** Providers whose waiters are held back only by the limit on all conversations. */
  readonly #overTotal = new Set<Provider>();
  /** Providers that may have idle conversations. */
  readonly #withIdle = new Set<Provider>();
  #active = 0;

  /** @param clock monotonic, milliseconds. */
  constructor(settings: SmtpSettings, clock: () => number) {
    this.#settings = settings;
    this.#clock = clock;
    this.#circuits = new HostCircuits(clock);
    this.#limits = new HostLimits(clock);
    this.#reachability = new Reachability(clock);
  }

  /**
   * A conversation with `host` to ask about `domain`. The caller returns it with `release` or `discard`.
   * @param signal ends the conversation. @param needed ends the wait for it; aborts no later than `signal`. @throws SessionFailure
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
        host,
        domain,
        signal,
        needed,
        resolve,
        reject,
        stop: () => {
          leave(provider, waiter);
          stop();
        },
        refusals: 0,
      };
      join(provider, waiter);
      this.#pump(provider);
    });
  }

  /** True when `host` has answered recently. */
  isAlive({ name }: MailHost): boolean {
    return this.#limits.isAlive(name);
  }

  /** How many more recipients the conversation may ask about. At 0 the caller releases it. */
  roomIn(session: SmtpSession): number {
    return Math.max(0, this.#limits.maxRecipients(this.#conversationOf(session).host) - session.asked);
  }

  /** Returns a conversation that can continue. */
  release(session: SmtpSession): void {
    const { host, provider } = this.#conversationOf(session);
    this.#circuits.succeeded(host);
    this.#limits.endedNormally(host);
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
    this.#pumpOverTotal();
  }

  /** Ends a conversation. @param failure set when the host ended it or broke the protocol */
  discard(session: SmtpSession, failure: SessionFailure | null): void {
    if (failure !== null && failure.failure.trouble !== 'stopped') {
      const { host, answered } = this.#conversationOf(session);
      // An end while idle is not a failure. An end after answers shows the host's limit.
      if (session.answered === 0) this.#circuits.failed(host, failure);
      else if (session.answered > answered || failure.failure.reply !== null) this.#limits.brokeOff(host, session.answered);
    }
    this.#end(session);
  }

  /** Ends idle conversations and all waiting. Conversations in use end when they are returned. */
  close(): void {
    this.#stop.abort();
    for (const provider of this.#providers.values()) {
      for (const waiter of provider.waiting) waiter.stop();
      if (provider.wake !== null) clearTimeout(provider.wake.timer);
      for (const session of allIdle(provider)) this.#end(session);
    }
  }

  #handOver(session: SmtpSession, signal: AbortSignal): void {
    this.#conversationOf(session).answered = session.answered;
    session.follow(AbortSignal.any([signal, this.#stop.signal]));
  }

  /** Starts conversations for the waiters of a provider, in order, as far as the limits allow. */
  #pump(provider: Provider): void {
    const { conversationsPerProvider, conversations, perProviderPerSecond } = this.#settings;
    this.#overTotal.delete(provider);
    for (const waiter of provider.waiting) {
      const { name } = waiter.host;
      const failure = this.#reachability.blockedFailure() ?? this.#circuits.failureIfOpen(name);
      if (failure !== null) {
        leave(provider, waiter);
        waiter.reject(failure);
        continue;
      }
      const now = this.#clock();
      if (provider.nextMs > now) return this.#wakeIn(provider, provider.nextMs - now);
      if ((provider.open.get(name) ?? 0) >= this.#limits.maxConversations(name)) continue;
      const waitMs = this.#limits.waitMs(name);
      if (waitMs > 0) {
        this.#wakeIn(provider, waitMs);
        continue;
      }
      if (provider.active >= conversationsPerProvider && !this.#endOneIdle([provider])) return;
      if (this.#active >= conversations && !this.#endOneIdle(this.#withIdle)) {
        this.#overTotal.add(provider);
        return;
      }
      provider.nextMs = now + 1000 / perProviderPerSecond;
      countOpen(provider, name, 1);
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

  /** Serves the providers that waited for room under the limit on all conversations. */
  #pumpOverTotal(): void {
    for (const provider of this.#overTotal) {
      this.#pump(provider);
      // Without room for the first provider there is none for the others.
      if (this.#overTotal.has(provider)) return;
    }
  }

  async #begin(waiter: Waiter, provider: Provider): Promise<void> {
    const { host, domain, signal, needed, resolve, reject } = waiter;
    const stop = AbortSignal.any([needed, this.#stop.signal, this.#reachability.signal]);
    const begunMs = this.#clock();
    const last = await tryAddresses(host, domain, this.#settings, this.#reachability, stop);
    if (last instanceof SmtpSession) {
      this.#conversations.set(last, { host: host.name, provider, answered: 0 });
      this.#handOver(last, signal);
      resolve(last);
      return;
    }
    countOpen(provider, host.name, -1);
    this.#active--;
    const blocked = this.#reachability.blockedFailure();
    if (needed.aborted || this.#stop.signal.aborted) {
      this.#noteCutOff(host.name, this.#clock() - begunMs);
      reject(last);
    } else if (blocked !== null) reject(blocked);
    else if (this.#isFull(host.name, provider, last) && waiter.refusals++ < MAX_REFUSALS) {
      this.#limits.refusedAnother(host.name, provider.open.get(host.name) ?? 0);
      join(provider, waiter);
    } else {
      this.#circuits.failed(host.name, last);
      reject(last);
    }
    this.#pumpAfterEnd(provider);
  }

  /** Counts a deadline that cut off a full connection timeout as a failure of the host. Otherwise no caller would reach the next host. */
  #noteCutOff(host: string, tookMs: number): void {
    if (tookMs < this.#settings.connectMs || this.#limits.isAlive(host)) return;
    this.#circuits.failed(
      host,
      new SessionFailure('connect', new SmtpFailure('timeout', `no conversation within ${Math.round(tookMs)} ms`)),
    );
  }

  /** True when a host that answers us refused only this conversation: it wants fewer of them, or later. */
  #isFull(host: string, provider: Provider, { failure }: SessionFailure): boolean {
    return (provider.open.has(host) || this.#limits.isAlive(host)) && (failure.reply === null || failure.reply.code < 500);
  }

  /** Makes room by ending an idle conversation; false when there is none. */
  #endOneIdle(providers: Iterable<Provider>): boolean {
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

  /** Ends a conversation without serving the waiters. */
  #quit(session: SmtpSession): void {
    session.quit();
    const { host, provider } = this.#conversationOf(session);
    countOpen(provider, host, -1);
    this.#active--;
  }

  #end(session: SmtpSession): void {
    this.#quit(session);
    this.#pumpAfterEnd(this.#conversationOf(session).provider);
  }

  #pumpAfterEnd(provider: Provider): void {
    if (this.#stop.signal.aborted) return;
    this.#pump(provider);
    this.#pumpOverTotal();
  }

  #conversationOf(session: SmtpSession): Conversation {
    return present(this.#conversations.get(session), 'a conversation was begun here');
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
    for (const [name, { active, waiting, nextMs }] of this.#providers)
      if (active === 0 && waiting.size === 0 && nextMs <= now) this.#providers.delete(name);
  }
}
