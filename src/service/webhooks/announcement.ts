/** The event types of webhooks, and the interface by which the service announces events. */
import type { SignalType } from '../records/signal-types.ts';
import { JOB_CHANGE } from '../store/rows/job-change-rows.ts';

/** The events of new signals, and their signal types. */
export const SIGNAL_EVENTS = {
  'funding.round': 'funding',
  'hiring.change': 'hiring',
  'executive.move': 'executive_move',
  'technology.change': 'technology_change',
} as const satisfies Readonly<Record<string, SignalType>>;
export const EVENT_TYPES = [
  JOB_CHANGE,
  'funding.round',
  'hiring.change',
  'executive.move',
  'technology.change',
  'enrichment.completed',
  'verification.completed',
  'batch.completed',
  'batch.failed',
  'batch.cancelled',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Fields of the employer in a job change. */
export const COMPANY_OF_CHANGE = ['id', 'name', 'domain', 'employees', 'industry'] as const;

export interface Announcement {
  readonly type: EventType;
  /** Only webhooks of this key get the event. */
  readonly keyId: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The `webhook_url` of the request, checked (`checkWebhookUrl`). */
  readonly webhookUrl: string | null;
}

/**
 * Saves an event for the key's webhooks of this type and for `webhookUrl`, within the caller's transaction. It is sent after the commit.
 */
export type Announce = (announcement: Announcement) => void;

/** The signal and the person that a delivery is about: an erasure finds it by these ids. */
export interface About {
  readonly signal: string | null;
  readonly person: string | null;
}

export const ABOUT_NOBODY: About = { signal: null, person: null };

/** The body of a delivery, the same at each attempt. */
export function eventBody(type: EventType, atMs: number, data: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), data });
}
