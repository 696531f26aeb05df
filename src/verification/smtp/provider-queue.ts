/** Who waits for a conversation with one provider, and which of its conversations nobody uses. */
import type { MailHost } from '../dns/mail-routes.ts';
import type { SmtpSession } from './session.ts';

export interface Waiter {
  readonly host: MailHost;
  /** About which it is to be asked. */
  readonly domain: string;
  /** Ends the conversation. */
  readonly signal: AbortSignal;
  /** Ends the waiting for one. */
  readonly needed: AbortSignal;
  readonly resolve: (session: SmtpSession) => void;
  readonly reject: (error: unknown) => void;
  readonly stop: () => void;
  /** Times that the host would not have another conversation for it. */
  refused: number;
}

interface Idle {
  readonly session: SmtpSession;
  readonly timer: NodeJS.Timeout;
}

/** Whoever waits for one provider waits for no other: each event looks at one queue, not at all who wait. */
export interface Provider {
  active: number;
  /** Conversations with each host, those that are about to begin included. */
  readonly open: Map<string, number>;
  /** When the next conversation may begin, monotonic milliseconds. */
  nextMs: number;
  /** When it is looked at again without anything having happened. */
  wake: { readonly timer: NodeJS.Timeout; readonly atMs: number } | null;
  /** In the order in which they came. Where a host has an idle conversation, nobody waits for it. */
  readonly waiting: Set<Waiter>;
  readonly byHost: Map<string, Set<Waiter>>;
  readonly idle: Map<string, Idle[]>;
}

export function newProvider(): Provider {
  return { active: 0, open: new Map(), nextMs: 0, wake: null, waiting: new Set(), byHost: new Map(), idle: new Map() };
}

/** Waits from now on. */
export function join(provider: Provider, waiter: Waiter): void {
  waiter.needed.addEventListener('abort', waiter.stop, { once: true });
  provider.waiting.add(waiter);
  provider.byHost.set(waiter.host.name, (provider.byHost.get(waiter.host.name) ?? new Set()).add(waiter));
}

/** No longer waits. */
export function leave(provider: Provider, waiter: Waiter): void {
  waiter.needed.removeEventListener('abort', waiter.stop);
  provider.waiting.delete(waiter);
  const others = provider.byHost.get(waiter.host.name);
  others?.delete(waiter);
  if (others?.size === 0) provider.byHost.delete(waiter.host.name);
}

/** One conversation more with `host`, or one less. */
export function count(provider: Provider, host: string, change: 1 | -1): void {
  const open = (provider.open.get(host) ?? 0) + change;
  if (open === 0) provider.open.delete(host);
  else provider.open.set(host, open);
  provider.active += change;
}

/** A conversation with `host` that nobody uses; those that have ended meanwhile are given to `drop`. */
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

/** All of them, taken out. */
export function allIdle(provider: Provider): SmtpSession[] {
  const all = [...provider.idle.values()].flat();
  for (const { timer } of all) clearTimeout(timer);
  provider.idle.clear();
  return all.map(({ session }) => session);
}
