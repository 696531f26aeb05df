/**
 * An operation of the service, declared once. Its route, its refusals and the published document follow the declaration. Types only.
 */
import type { ErrorCode } from './problem.ts';
import type { Body, Schema } from './body-schema.ts';

/** The groups of the reference page, in its order. */
export const TAGS = {
  Enrichment: 'Send a key of a person or company, such as an address or a domain, and get the whole record.',
  Contacts: 'Finding people by what they are, and revealing how they can be reached.',
  Verification: 'Whether an address takes mail, and how sure that is.',
  Batches: 'Jobs of up to millions of lines: what the calls for one do, for a file.',
  Companies: 'Firmographics, technologies, funding and hiring of a company.',
  Signals: 'What happened at companies: funding, hiring, executive moves, technology changes.',
  GraphQL: 'Several calls in one request, and of each the fields that are wanted.',
  Webhooks: 'Events that are sent to you: signals, changes of jobs, what was asked for and is done.',
  Operation: 'For those who run the service. No key is needed.',
} as const;
type Tag = keyof typeof TAGS;

/** A parameter of the query, the path or the headers. */
export interface Parameter {
  readonly description: string;
  /** The schema of one value. */
  readonly schema: Schema;
  readonly example?: unknown;
  /** The parameter may be repeated up to this number of times. */
  readonly most?: number;
  /** Commas within a value divide it. */
  readonly divided?: boolean;
}

export type Parameters = Readonly<Record<string, Parameter>>;

/** A declared answer, other than a problem. */
export interface DeclaredAnswer {
  readonly description: string;
  /** By media type; absent for an answer without a body. */
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
  /** Its answer differs each time, so none is published. */
  readonly varies?: true;
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
  /** A body other than JSON, by its media types. It is streamed. */
  readonly raw?: Readonly<Record<string, Schema>>;
  /** Answers by status. An answer of 400 and above comes beside the problem of that status. */
  readonly answers: Readonly<Record<number, DeclaredAnswer>>;
  /** Codes of its refusals, besides those of every operation. */
  readonly problems: readonly ErrorCode[];
  readonly examples?: readonly Example[];
}

declare module 'fastify' {
  /** The part of an operation that its route needs at run time. */
  interface FastifyContextConfig {
    /** Query parameters that the route takes; default none. */
    parameters?: Parameters;
    /** Requests have a body. */
    hasBody?: true;
    /** No key is needed, and no quota taken. */
    open?: true;
    /** The body is read as a stream, in these media types. */
    raw?: readonly string[];
  }
}
