/** The report of one call that a check makes. Types only. */
import type { OperationName } from '../compiled-provider.ts';
import type { Kind, Lookup } from './answers-file.ts';

/** The request as it is sent, with the API key masked. */
export interface ShownRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON as a value, a form as text; null without a body. */
  readonly body: unknown;
}

export interface ShownAnswer {
  /** 0 when none came. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** JSON as a value, other text as text; null without a body. */
  readonly body: unknown;
}

/** The meaning of an answer to one lookup. */
export interface Judged {
  readonly lookup: Lookup;
  readonly kind: Kind;
  /** The key of the rule that decided; null when none did. */
  readonly rule: string | null;
  /** The reason in words. */
  readonly why: string;
  /** In our terms; null when there is none. */
  readonly record: Readonly<Record<string, unknown>> | null;
  readonly credits: number;
  /** Seconds that the vendor asks to wait, or until a promised answer is asked for; null when it does not say. */
  readonly waitSeconds: number | null;
}

export interface ShownWindow {
  /** second, minute, hour, day or month. */
  readonly window: string;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetSeconds: number | null;
}

export interface CallReport {
  readonly name: string;
  readonly operation: OperationName;
  /** Null when no request could be made of the lookup. */
  readonly request: ShownRequest | null;
  readonly answer: ShownAnswer | null;
  readonly judged: readonly Judged[];
  /** Credits of the whole call. */
  readonly credits: number;
  /** Quota windows that the headers state. */
  readonly quota: readonly ShownWindow[];
  /** Each difference from what is expected, as a sentence. */
  readonly differences: readonly string[];
}
