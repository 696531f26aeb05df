/** What can be announced to webhooks, and the door through which the service's parts do it. */
import type { SignalType } from '../signal-types.ts';

/** New signals, and the kinds of signals that they are. */
export const SIGNAL_EVENTS = { 'funding.round': 'funding', 'hiring.change': 'hiring', 'executive.move': 'executive_move', 'technology.change': 'technology_change' } as const satisfies Readonly<Record<string, SignalType>>;
export const JOB_CHANGE = 'job.change';
export const EVENT_TYPES = [JOB_CHANGE, 'funding.round', 'hiring.change', 'executive.move', 'technology.change', 'enrichment.completed', 'verification.completed', 'batch.completed', 'batch.failed', 'batch.cancelled'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** What is told of the employer with a change of jobs. */
export const COMPANY_OF_CHANGE = ['id', 'name', 'domain', 'employees', 'industry'] as const;

export interface Announcement {
  readonly type: EventType;
  /** Whose it is: it goes to webhooks of this key alone. */
  readonly keyId: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Where it was asked to be sent, too (`checkWebhookUrl`). */
  readonly webhookUrl: string | null;
}

/** Keeps what is to be told, for the key's webhooks of this type and for `webhookUrl`. Within a transaction of the store; it is sent after that was committed. */
export type Announce = (announcement: Announcement) => void;

/** By what an erasure finds a delivery whose body need not have an address in it: ids of the signal and of the person that it tells of. */
export interface About {
  readonly signal: string | null;
  readonly person: string | null;
}

export const ABOUT_NOBODY: About = { signal: null, person: null };

/** A body as it is sent, the same at each attempt. */
export function eventBody(type: EventType, atMs: number, data: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), data });
}
