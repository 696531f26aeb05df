/** Mappings of a provider definition: JSONata, parsed once, with evaluations that cannot run for ever or fill the memory. */
import jsonata from 'jsonata';
import { ConfigError } from '../util/errors.ts';
import { isObject } from '../util/is-object.ts';
import type { Mapping } from './compiled-provider.ts';
import { DefinitionError } from './definition-error.ts';
import { checkExpression, type Objection } from './mapping/check-expression.ts';
import { compileDirect, LEAVE, type Direct } from './mapping/direct.ts';
import { bindFunctions } from './mapping/functions.ts';
import { MappingError } from './mapping/mapping-error.ts';
import { BOUNDED_OPTIONS, LimitReached, LIMITS, meter } from './mapping/meter.ts';
import { plainValue } from './mapping/plain-value.ts';

export { MappingError, type MappingFailure } from './mapping/mapping-error.ts';

/** Characters of one expression. */
const MAX_EXPRESSION = 64 * 1024;
/** Characters of a JSONata message, which may quote the input. */
const MAX_REASON = 200;
const LANGUAGE_HINT = 'Mappings are JSONata: docs.jsonata.org has the language.';

/** Says which key a position of the expression belongs to, where the expression was made of several. */
export type LeafAt = (position: number) => { readonly key: string; readonly position: number } | null;

/**
 * Parses a mapping and refuses what could run for ever, load code, or give another value each time.
 * @param key of the definition, such as `operations.enrich.record`
 * @param place for messages: the definition's file and line, such as `acme.yaml, line 12`; empty for none
 * @throws ConfigError `bad_mapping`, with the position in the expression
 */
export function compileMapping(key: string, text: string, place: string, leafAt: LeafAt = () => null): Mapping {
  const refuse = ({ problem, hint, position }: Objection): ConfigError => {
    const at = position === null ? '' : ` at ${placeIn(text, position)}`;
    return new DefinitionError(key, 'bad_mapping', `${key}${at}: ${problem}${place === '' ? '' : ` (${place})`}`, hint ?? LANGUAGE_HINT);
  };
  if (text.length > MAX_EXPRESSION)
    throw refuse({ problem: `an expression is at most ${MAX_EXPRESSION} characters long`, hint: null, position: null });
  const expression = parse(text, refuse);
  bindFunctions(expression);
  const run = async (input: unknown): Promise<unknown> => {
    meter.reset();
    try {
      return plainValue(await expression.evaluate(input));
    } catch (error) {
      throw mappingError(key, error, leafAt);
    }
  };
  const inJsonata = (input: unknown): Promise<unknown> => inTurn(() => run(input));
  const direct = directOf(expression);
  if (direct === null) return { key, text, evaluate: inJsonata };
  const evaluate = async (input: unknown): Promise<unknown> => {
    const found = isObject(input) ? valueOf(direct, input) : LEAVE;
    return found === LEAVE ? inJsonata(input) : found;
  };
  return { key, text, evaluate };
}

/** Null for an expression that is left to JSONata, also because it is nested deeper than the stack. */
function directOf(expression: jsonata.Expression): Direct | null {
  try {
    return compileDirect(expression.ast());
  } catch {
    return null;
  }
}

/** A value that is not plain, or is nested deeper than the stack, is left to JSONata, which then says why. */
function valueOf(direct: Direct, input: Readonly<Record<string, unknown>>): unknown {
  try {
    const found = direct(input);
    return found === LEAVE ? LEAVE : plainValue(found);
  } catch {
    return LEAVE;
  }
}

function parse(text: string, refuse: (objection: Objection) => ConfigError): jsonata.Expression {
  try {
    const expression = jsonata(text, BOUNDED_OPTIONS);
    const objection = checkExpression(expression.ast());
    if (objection !== null) throw refuse(objection);
    return expression;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    if (error instanceof RangeError) throw refuse({ problem: 'the expression is nested too deep', hint: null, position: null });
    const { message, position } = error as Partial<jsonata.JsonataError>;
    throw refuse({ problem: inWords(message), hint: null, position: position ?? null });
  }
}

/** `character 5`, or `line 2, character 5` of an expression with several lines. */
function placeIn(text: string, position: number): string {
  const before = text.slice(0, Math.max(0, position - 1)).split('\n');
  const character = `character ${(before.at(-1)?.length ?? 0) + 1}`;
  return text.includes('\n') ? `line ${before.length} of the expression, ${character}` : character;
}

let last: Promise<unknown> = Promise.resolve();

/** One evaluation at a time: none of them waits for anything outside, and each has the whole budget. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const mine = last.then(work);
  last = mine.catch(() => null);
  return mine;
}

function mappingError(key: string, error: unknown, leafAt: LeafAt): MappingError {
  const { code, message, position } = (error ?? {}) as { code?: unknown; message?: unknown; position?: unknown };
  const leaf = typeof position === 'number' ? leafAt(position) : null;
  const at = leaf?.position ?? (typeof position === 'number' ? position : null);
  const named = leaf?.key ?? key;
  if (error instanceof LimitReached) return new MappingError(named, error.failure, error.message, at);
  if (error instanceof RangeError) return new MappingError(named, 'too_deep', 'its calls or its input are nested too deep', at, error);
  if (code === 'D1011') return new MappingError(named, 'too_deep', `calls are nested more than ${LIMITS.depth} deep`, at);
  if (code === 'D2015') return new MappingError(named, 'too_large', `a list has more than ${LIMITS.list} entries`, at);
  return new MappingError(named, 'threw', inWords(message), at, error);
}

/** JSONata's message as the end of a sentence. It may quote a value of the input, so it is cut. */
function inWords(message: unknown): string {
  const text = typeof message === 'string' ? message.trim().replace(/\.$/, '') : 'JSONata gave no reason';
  return text.length > MAX_REASON ? `${text.slice(0, MAX_REASON)}…` : text;
}
