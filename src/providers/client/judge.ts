/** The meaning of an answer, by the rules of a definition and else by its status. */
import { withBodyId, type Answer } from '../../client/answer.ts';
import {
  badBody,
  classify,
  denied,
  formOf404,
  isPage,
  problemOf,
  retryAfter,
  type ClassifyOptions,
  type Unsuccessful,
} from '../../client/classify.ts';
import { oneLine } from '../../client/problem.ts';
import type { ResponseHeaders } from '../../client/types.ts';
import { isObject } from '../../util/is-object.ts';
import type { AnswerRules, Mapping } from '../compiled-provider.ts';
import type { CallWatch, RuleName } from './call-watch.ts';
import { evaluate, inWords, Refusal } from './refusal.ts';

/** The input of the mappings for answers. */
export interface AnswerInput {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** JSON as a value, other text as text; undefined without a body. */
  readonly body: unknown;
}

/** An answer that came whole, or one item of it, ready for the rules. */
export interface Said {
  readonly input: AnswerInput;
  readonly answer: Answer;
}

/** `undecided`: a success of which no rule is true: its record decides. `isByStatus`: a refusal of which no rule is true. */
export type Judgement =
  | { readonly kind: 'match' }
  | { readonly kind: 'pending' }
  | { readonly kind: 'undecided' }
  | (Unsuccessful & { readonly isByStatus?: true });

/** In the order in which they are asked. */
const RULES: readonly RuleName[] = ['suppressed', 'wait', 'outOfCredits', 'denied', 'pending', 'match', 'miss', 'refused', 'retry'];

/** The code by which the pool knows that the credits are used up, whatever the status is. */
const OUT_OF_CREDITS = 'out_of_credits';
/** As in `problem.ts`: one word that starts with a letter. */
const CODE = /^[A-Za-z][\w.:-]{0,63}$/;
/** Longer than any wait that a job accepts. */
const LONGEST_WAIT_S = 400 * 86_400;

/**
 * An answer for the rules, or why the rules do not see it: a failed connection, an HTML page, or a success that is no JSON. Such
 * answers come from a proxy or a portal in front of a service, so that no rule may take them for a miss.
 */
export function readSaid(answer: Answer, options: ClassifyOptions): Said | Unsuccessful {
  const { status, failure, text, meta } = answer;
  const isSuccess = status >= 200 && status < 300;
  if (failure !== null) return classify(answer, options);
  if (isPage(answer)) return isSuccess ? badBody(answer, 'the answer is an HTML page') : classify(answer, options);
  const plain = text.trim();
  if (plain === '' && (status === 200 || status === 201)) return badBody(answer, 'the answer is empty');
  let body: unknown = plain === '' ? undefined : text;
  if (plain !== '') {
    try {
      body = JSON.parse(text);
    } catch {
      if (isSuccess) return badBody(answer, 'the answer is not JSON');
    }
  }
  const known = withBodyId(meta, body);
  return { input: { status, headers: meta.headers, body }, answer: known === meta ? answer : { ...answer, meta: known } };
}

/** @throws Refusal `bad_mapping` for a rule that fails, or that gives neither true nor false */
export async function judge(rules: AnswerRules, said: Said, options: ClassifyOptions, watch: CallWatch | null = null): Promise<Judgement> {
  const { input, answer } = said;
  const { meta } = answer;
  const rule = await firstTrue(rules, input);
  watch?.judged(rules, rule);
  switch (rule) {
    case 'match':
      return { kind: rule };
    case 'pending':
      return { kind: rule };
    case 'miss':
      return input.status === 404 && !NAMES_BODY.test(rules.miss?.text ?? '')
        ? { kind: rule, form: formOf404(answer, options), meta }
        : { kind: rule, meta };
    case 'suppressed':
      return { kind: rule, meta };
    case 'wait':
      return { kind: 'throttled', retryAfterMs: await waitMs(rules, input, answer, options), meta };
    case 'outOfCredits': {
      const { code, detail } = await words(rules, said, options);
      return { kind: 'denied', code: OUT_OF_CREDITS, detail: code.startsWith('http_') ? detail : oneLine(`${code}: ${detail}`), meta };
    }
    case 'denied':
      return denied(answer, await words(rules, said, options), options);
    case 'refused':
      return { kind: 'rejected', ...(await words(rules, said, options)), meta };
    case 'retry':
      return { kind: 'retryable', ...(await words(rules, said, options)), retryAfterMs: await waitMs(rules, input, answer, options), meta };
    case null:
      return input.status >= 200 && input.status < 300 && input.body !== undefined ? { kind: 'undecided' } : byStatus(rules, said, options);
    default:
      return rule satisfies never;
  }
}

/** The first rule that is true, or null. @throws Refusal `bad_mapping` */
export async function firstTrue(rules: AnswerRules, input: AnswerInput): Promise<RuleName | null> {
  for (const name of RULES) {
    const rule = rules[name];
    if (rule !== null && isTrue(rule, await evaluate(rule, input))) return name;
  }
  return null;
}

/**
 * An object or a list that is not empty is true, as in JSONata. Text and numbers are refused, because they are mistakes:
 * `'status = 200'` within quotes would always be true.
 */
function isTrue(rule: Mapping, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  if (value === undefined || value === null) return false;
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value)) return Object.keys(value).length > 0;
  throw new Refusal('bad_mapping', `${rule.key}: expected true or false, got ${inWords(value)}`);
}

/** A rule that tells one body from another knows the provider's own miss. */
const NAMES_BODY = /\bbody\b/;

/** A status that no rule knows, with the words of the definition in place of those that are found by their usual names. */
async function byStatus(
  rules: AnswerRules,
  said: Said,
  options: ClassifyOptions,
): Promise<Exclude<Judgement, { kind: 'match' | 'pending' | 'undecided' }>> {
  const result = classify(said.answer, options);
  // The definition knows its misses: this 404 comes from a gateway, or its route is gone.
  if (result.kind === 'miss' && said.input.status === 404 && rules.miss !== null)
    return { kind: 'retryable', ...(await words(rules, said, options)), retryAfterMs: null, meta: result.meta };
  if (result.kind === 'throttled') return { ...result, retryAfterMs: await waitMs(rules, said.input, said.answer, options) };
  if (!('code' in result)) return result;
  const named = rules.code === null && rules.message === null ? result : { ...result, ...(await words(rules, said, options, result)) };
  return named.kind === 'rejected' ? { ...named, isByStatus: true } : named;
}

/** Null: by the quota headers. A wait that cannot be read must not turn a wait into a failure. */
async function waitMs(rules: AnswerRules, input: AnswerInput, answer: Answer, options: ClassifyOptions): Promise<number | null> {
  const value = rules.waitSeconds === null ? undefined : await attempt(rules.waitSeconds, input);
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0) return Math.round(Math.min(seconds, LONGEST_WAIT_S) * 1_000);
  return retryAfter(answer, options);
}

interface Words {
  readonly code: string;
  readonly detail: string;
}

/** @param found the words that were found by their usual names */
async function words(rules: AnswerRules, said: Said, options: ClassifyOptions, found: Words = usualWords(said, options)): Promise<Words> {
  const code = rules.code === null ? null : toCode(await attempt(rules.code, said.input), options);
  const message = rules.message === null ? undefined : await attempt(rules.message, said.input);
  // Masked before it is cut: half a key at the edge would no longer be recognised.
  const detail = typeof message === 'string' && message.trim() !== '' ? oneLine(options.redactor.words(message)) : found.detail;
  return { code: code ?? found.code, detail };
}

function usualWords({ answer, input }: Said, options: ClassifyOptions): Words {
  const { code, detail } = problemOf(answer, options);
  return { code: code ?? `http_${input.status}`, detail: detail || `HTTP ${input.status}` };
}

/** Numbers are codes, too. Null for what cannot be one, or holds the key. */
function toCode(value: unknown, { redactor }: ClassifyOptions): string | null {
  const text = typeof value === 'number' ? `error_${value}` : typeof value === 'string' ? value.trim().replaceAll(/\s+/g, '_') : '';
  const code = /^\d/.test(text) ? `error_${text}` : text;
  return CODE.test(code) && redactor.words(code) === code ? code : null;
}

/** For words and waits, which decide nothing: a mapping that fails finds nothing. */
async function attempt(mapping: Mapping, input: AnswerInput): Promise<unknown> {
  try {
    return await mapping.evaluate(input);
  } catch {
    return undefined;
  }
}
