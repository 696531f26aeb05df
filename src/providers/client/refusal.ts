/** Why a lookup has no answer through a definition. Thrown inside the declared client, which makes a `rejected` result of it. Pure. */
import type { Mapping } from '../compiled-provider.ts';

export type RefusalCode =
  /** A mapping throws, runs too long, or gives a value that its place cannot have. */
  | 'bad_mapping'
  /** The answer or its record has another shape than the definition declares. */
  | 'bad_shape'
  /** The lookup lacks a value that the request needs. */
  | 'no_request_value'
  /** The request is larger than any service reads, or its headers have characters that no header can have. */
  | 'bad_request'
  /** The definition has no such operation. */
  | 'no_operation';

export class Refusal extends Error {
  readonly code: RefusalCode;

  /** @param message names the key of the definition, what was expected and what came */
  constructor(code: RefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** A success that no rule of the definition takes. */
export class NotTaken extends Refusal {
  constructor(message: string) {
    super('bad_shape', message);
  }
}

/** A promise to a request for several lookups, or to one of them. It is paid for, and another request would pay again. */
export function laterBatch(operation: string): Refusal {
  return new Refusal('bad_shape', `operations.${operation}.batch: the answer comes later, and only a lookup by itself is asked for again`);
}

/** Undefined when the mapping finds nothing. @throws Refusal `bad_mapping` */
export async function evaluate(mapping: Mapping, input: unknown): Promise<unknown> {
  try {
    return await mapping.evaluate(input);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Refusal('bad_mapping', message.includes(mapping.key) ? message : `${mapping.key}: ${message}`);
  }
}

/** Characters of a text that a message shows. */
const SHOWN = 40;

/** A value in words, for messages. Text is shown only with `showText`: it may be personal data. */
export function inWords(value: unknown, { showText = false } = {}): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'string') return showText ? `the text ${JSON.stringify(value.slice(0, SHOWN).toWellFormed())}` : 'text';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object') return 'an object';
  return typeof value === 'number' || typeof value === 'boolean'
    ? `${typeof value === 'number' ? 'the number ' : ''}${value}`
    : typeof value;
}
