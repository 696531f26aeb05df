/** One operation of a definition. Pure. */
import type { AnswerRules, Mapping, OperationName, ProviderBatch, ProviderOperation, ProviderPoll } from '../compiled-provider.ts';
import { compileOwnQuota } from './compile-quota.ts';
import { isObject } from '../../util/is-object.ts';
import { checkKeysUsed, compileRequest } from './compile-request.ts';
import { refusalAt } from './definition-file.ts';
import type { RawAnswers, RawBatch, RawOperation, RawPoll } from './schema.ts';
import { compileExpressions, compileForAnswers, tried, type Source } from './source.ts';
import type { ProviderKey } from '../../steps/keys.ts';
import { isStandard, onlyKeyOf } from '../../steps/registry.ts';
import { ownColumns, refuseOwnColumns } from './own-step.ts';

const RULES = [
  'suppressed',
  'wait',
  'outOfCredits',
  'denied',
  'pending',
  'match',
  'miss',
  'refused',
  'retry',
  'waitSeconds',
  'code',
  'message',
] as const;

/** @throws ConfigError naming the key */
export function compileOperation(source: Source, name: OperationName, raw: RawOperation): ProviderOperation {
  const { definition } = source;
  const key = `operations.${name}`;
  const refuse = (at: string, code: string, message: string, hint?: string): Error => refusalAt(definition, at, code, message, hint);
  if (raw.request === undefined && raw.batch === undefined)
    throw refuse(key, 'missing_key', `${key} needs a request, a batch, or both`, 'request asks for one lookup, batch for several at once.');
  if (raw.record === undefined)
    throw refuse(key, 'missing_key', `${key}.record is missing`, 'It maps an answer to our fields, such as {email: body.data.email}.');
  const keys = tried(source, [], () => keysOf(source, name, raw));
  const answers = compileAnswers(source, `${key}.answers`, raw.answers);
  const poll = tried(source, null, () => (raw.poll === undefined ? null : compilePoll(source, `${key}.poll`, raw.poll)));
  if (poll !== null && answers.pending === null && raw.batch?.answers?.pending === undefined)
    throw refuse(`${key}.poll`, 'missing_key', `${key}.poll needs answers.pending, the rule for an answer that comes later`);
  if (raw.poll === undefined && answers.pending !== null && (raw.batch?.poll === undefined || raw.request !== undefined))
    throw refuse(`${key}.answers.pending`, 'missing_key', `${key}.answers.pending needs poll, which asks again`);
  const request = tried(source, null, () => (raw.request === undefined ? null : compileRequest(source, `${key}.request`, raw.request)));
  if (request !== null) tried(source, null, () => checkKeysUsed(source, key, keys, `${key}.request`, request));
  const batch = tried(source, null, () => (raw.batch === undefined ? null : compileBatch(source, key, { keys, answers, poll }, raw.batch)));
  const fields = fieldsOf(raw.record);
  const own = tried(source, null, () => {
    if (!isStandard(name)) return ownColumns(source, name, raw, fields);
    refuseOwnColumns(source, name, raw);
    return null;
  });
  return {
    name,
    ...(own === null ? {} : { own }),
    keys,
    request,
    answers,
    record: compileExpressions(source, `${key}.record`, raw.record),
    fields,
    ...(source.raw.absent === undefined ? {} : { absent: source.raw.absent.map((text) => text.trim().toLowerCase()) }),
    credits: optionalOfAnswer(source, `${key}.credits`, raw.credits),
    creditsAtMost: raw.creditsAtMost,
    creditsAt: raw.creditsAt,
    batch,
    poll,
    quota: tried(source, null, () => compileOwnQuota(source, `${key}.quota`, raw.quota)),
  };
}

function fieldsOf(record: unknown): string[] {
  if (!isObject(record)) return [];
  return Object.entries(record).flatMap(([field, of]) =>
    field === 'company' && isObject(of) ? Object.keys(of).map((inner) => `company.${inner}`) : [field],
  );
}

function keysOf({ definition }: Source, name: OperationName, { keys }: RawOperation): readonly ProviderKey[] {
  const only = onlyKeyOf(name);
  const path = `operations.${name}.keys`;
  if (keys === undefined) {
    if (only !== null) return [only];
    throw refusalAt(
      definition,
      path,
      'missing_key',
      `${path} is missing`,
      'It lists the keys that the provider takes, such as [email, linkedin_url].',
    );
  }
  for (const [index, key] of keys.entries()) {
    const at = `${path}[${index}]`;
    if (only !== null && key !== only) throw refusalAt(definition, at, 'bad_value', `${path}: ${name} takes ${only} only, got ${key}`);
    if (keys.indexOf(key) !== index) throw refusalAt(definition, at, 'bad_value', `${path} names ${key} twice`);
  }
  return keys;
}

const optional = (source: Source, key: string, value: unknown): Mapping | null =>
  value === undefined ? null : compileExpressions(source, key, value);

const optionalOfAnswer = (source: Source, key: string, value: unknown): Mapping | null =>
  value === undefined ? null : compileForAnswers(source, key, value);

function compileAnswers(source: Source, key: string, raw: RawAnswers = {}): AnswerRules {
  return Object.fromEntries(RULES.map((rule) => [rule, optionalOfAnswer(source, `${key}.${rule}`, raw[rule])])) as unknown as AnswerRules;
}

/** Without rules of its own the answer as a whole is judged by those of the operation that are about the request, not about a record. */
function compileBatch(
  source: Source,
  operation: string,
  { keys, answers: own, poll: ownPoll }: Pick<ProviderOperation, 'keys' | 'answers' | 'poll'>,
  raw: RawBatch,
): ProviderBatch {
  const key = `${operation}.batch`;
  if (raw.request === undefined) throw refusalAt(source.definition, key, 'missing_key', `${key}.request is missing`);
  const answers =
    raw.answers === undefined ? { ...own, match: null, miss: null, refused: null } : compileAnswers(source, `${key}.answers`, raw.answers);
  const poll = raw.poll === undefined ? ownPoll : compilePoll(source, `${key}.poll`, raw.poll);
  if (answers.pending !== null && poll === null)
    throw refusalAt(
      source.definition,
      raw.answers === undefined ? key : `${key}.answers.pending`,
      'missing_key',
      `${key}.answers.pending needs ${key}.poll, which asks again`,
    );
  if (raw.poll !== undefined && answers.pending === null)
    throw refusalAt(
      source.definition,
      `${key}.poll`,
      'missing_key',
      `${key}.poll needs ${key}.answers.pending, the rule for an answer that comes later`,
    );
  const request = compileRequest(source, `${key}.request`, raw.request);
  checkKeysUsed(source, operation, keys, `${key}.request`, request);
  return {
    size: raw.size,
    request,
    items: compileForAnswers(source, `${key}.items`, raw.items),
    itemStatus: optional(source, `${key}.itemStatus`, raw.itemStatus),
    itemId: optional(source, `${key}.itemId`, raw.itemId),
    answers,
    credits: optionalOfAnswer(source, `${key}.credits`, raw.credits),
    quota: compileOwnQuota(source, `${key}.quota`, raw.quota),
    ...(answers.pending === null || poll === null ? {} : { poll }),
  };
}

function compilePoll(source: Source, key: string, raw: RawPoll): ProviderPoll {
  const { everySeconds, firstSeconds = everySeconds, longestSeconds, growth, maxOpen = null } = raw;
  for (const [name, seconds] of Object.entries({ everySeconds, firstSeconds }))
    if (seconds > longestSeconds)
      throw refusalAt(source.definition, `${key}.${name}`, 'bad_value', `${key}.${name} is longer than longestSeconds`);
  return {
    ticket: optionalOfAnswer(source, `${key}.ticket`, raw.ticket),
    request: raw.request === undefined ? null : compileRequest(source, `${key}.request`, raw.request),
    next: optionalOfAnswer(source, `${key}.next`, raw.next),
    firstMs: Math.round(firstSeconds * 1_000),
    everyMs: Math.round(everySeconds * 1_000),
    growth,
    longestMs: Math.round(longestSeconds * 1_000),
    maxOpen,
    quota: compileOwnQuota(source, `${key}.quota`, raw.quota),
  };
}
