/** The callers that wait for a conversation with one provider, and its idle conversations. */
import type { MailHost } from '../dns/mail-routes.ts';
import type { SmtpSession } from './session.ts';

export interface Waiter {
  readonly host: MailHost;
  /** The domain to ask about. */
  readonly domain: string;
  /** Ends the conversation. */
  readonly signal: AbortSignal;
  /** Ends the wait for it. */
  readonly needed: AbortSignal;
  readonly resolve: (session: SmtpSession) => void;
  readonly reject: (error: unknown) => void;
  readonly stop: () => void;
  /** How often the host refused another conversation for this caller. */
  refusals: number;
}

interface Idle {
  readonly session: SmtpSession;
  readonly timer: NodeJS.Timeout;
}

/** Each provider has its own queue, so that an event checks only the callers of one provider. */
export interface Provider {
  active: number;
  /** The number of conversations with each host, including those that are being opened. */
  readonly open: Map<string, number>;
  /** When the next conversation may begin, monotonic milliseconds. */
  nextMs: number;
  /** The timer for the next check of the queue. */
  wake: { readonly timer: NodeJS.Timeout; readonly atMs: number } | null;
  /** In order of arrival. Nobody waits for a host that has an idle conversation. */
  readonly waiting: Set<Waiter>;
  readonly byHost: Map<string, Set<Waiter>>;
  readonly idle: Map<string, Idle[]>;
}

export function newProvider(): Provider {
  return { active: 0, open: new Map(), nextMs: 0, wake: null, waiting: new Set(), byHost: new Map(), idle: new Map() };
}

/** Adds a caller to the queue. */
export function join(provider: Provider, waiter: Waiter): void {
  waiter.needed.addEventListener('abort', waiter.stop, { once: true });
  provider.waiting.add(waiter);
  provider.byHost.set(waiter.host.name, (provider.byHost.get(waiter.host.name) ?? new Set()).add(waiter));
}

/** Removes a caller from the queue. */
export function leave(provider: Provider, waiter: Waiter): void {
  waiter.needed.removeEventListener('abort', waiter.stop);
  provider.waiting.delete(waiter);
  const others = provider.byHost.get(waiter.host.name);
  others?.delete(waiter);
  if (others?.size === 0) provider.byHost.delete(waiter.host.name);
}

/** Counts one conversation more or less with `host`. */
export function countOpen(provider: Provider, host: string, change: 1 | -1): void {
  const open = (provider.open.get(host) ?? 0) + change;
  if (open === 0) provider.open.delete(host);
  else provider.open.set(host, open);
  provider.active += change;
}

/** An idle conversation with `host`; null without one. Idle conversations that have ended meanwhile go to `drop`. */
export function takeIdle(provider: Provider, host: string, drop: (session: SmtpSession) => void): SmtpSession | null {
  for (;;) {
    const idle = provider.idle.get(host)?.[0];
    if (idle === undefined) return null;
    removeIdle(provider, host, idle.session);
    if (idle.session.usable) return idle.session;
    drop(idle.session);
  }
}

export function removeIdle(provider: Provider, host: string, session: SmtpSession): void {
  const left = (provider.idle.get(host) ?? []).filter((idle) => {
    if (idle.session === session) clearTimeout(idle.timer);
    return idle.session !== session;
  });
  if (left.length === 0) provider.idle.delete(host);
  else provider.idle.set(host, left);
}

/** Removes and returns all idle conversations. */
export function allIdle(provider: Provider): SmtpSession[] {
  const all = [...provider.idle.values()].flat();
  for (const { timer } of all) clearTimeout(timer);
  provider.idle.clear();
  return all.map(({ session }) => session);
}
