/** An operation of the service, declared once: its route and what it refuses are made from this, and the published document too. Types only. */
import type { ErrorCode } from '../errors.ts';
import type { Body, Schema } from './schema.ts';

/** The groups of the reference page, in its order. */
export const TAGS = {
  Enrichment: 'Something that a person or a company is known by goes in, the whole record comes out.',
  Contacts: 'Finding people by what they are, and revealing how they can be reached.',
  Verification: 'Whether an address takes mail, and how sure that is.',
  Batches: 'Jobs of up to millions of lines: what the calls for one do, for a file.',
  Companies: 'Firmographics, technologies, funding and hiring of a company.',
  Signals: 'What happened at companies: funding, hiring, executive moves, technology changes.',
  GraphQL: 'Several calls in one request, and of each the fields that are wanted.',
  Webhooks: 'Events that are sent to you: signals, changes of jobs, what was asked for and is done.',
  Operation: 'For those who run the service. No key is needed.',
} as const;
export type Tag = keyof typeof TAGS;

/** A parameter of the query, the path or the headers. */
export interface Parameter {
  readonly description: string;
  /** Of one value. */
  readonly schema: Schema;
  readonly example?: unknown;
  /** It may be repeated, so many times. */
  readonly most?: number;
  /** Commas within a value divide it. */
  readonly divided?: boolean;
}

export type Parameters = Readonly<Record<string, Parameter>>;

/** An answer that is no problem. */
export interface Answered {
  readonly description: string;
  /** By media type; none: without a body. */
  readonly content?: Readonly<Record<string, Schema>>;
  /** Names of `HEADERS` that come with it, besides those that every answer has. */
  readonly headers?: readonly string[];
}

/** A request that works on the sample set. */
export interface Example {
  readonly name: string;
  readonly summary: string;
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its parameters in braces. */
  readonly path: `/${string}`;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  /** No key is needed, and no quota taken. */
  readonly open?: true;
  readonly inPath?: Parameters;
  readonly query?: Parameters;
  /** Besides those that every request may have. */
  readonly headers?: Parameters;
  /** A `Body` that is read by its declaration, or the schema of what the operation reads by itself. */
  readonly body?: { readonly name: string; readonly declared: Body } | { readonly name: string; readonly schema: Schema };
  /** A body that is no JSON, by its media types; it is streamed. */
  readonly raw?: Readonly<Record<string, Schema>>;
  /** One of 400 and above comes beside the problem of that status. */
  readonly answers: Readonly<Record<number, Answered>>;
  /** What it may be refused with, besides what any request may. */
  readonly problems: readonly ErrorCode[];
  readonly examples?: readonly Example[];
}
