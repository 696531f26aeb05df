/** The items of an answer to several lookups: each is judged as the answer to a lookup alone would be. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClassifyOptions } from '../../client/classify.ts';
import type { CallResult } from '../../client/types.ts';
import { isObject } from '../../util/is-object.ts';
import type { Mapping, ProviderBatch } from '../compiled-provider.ts';
import type { AnswerReader } from './answer-reader.ts';
import type { Said } from './judge.ts';
import type { LookupInput } from './lookup-text.ts';
import { CONTRADICTION, isAboutAnother, isOfAnother, matchItems, ownKeysOf } from './match-items.ts';
import { evaluate, inWords, laterBatch, Refusal } from './refusal.ts';

/** Items that are mapped before other work has its turn, about 10 ms. */
const ITEMS_A_TURN = 64;

/** `later`: the answer to this lookup is still to come. Null: the answer leaves the lookup out. */
export type ItemResult<T> = CallResult<T> | 'later' | null;

interface WholeAnswer {
  readonly batch: ProviderBatch;
  readonly said: Said;
  readonly options: ClassifyOptions;
  readonly items: readonly unknown[];
}

/**
 * One result for each lookup, in order, and the credits of all. `namesAll`: each match says what it has cost. A lookup that nobody here
 * knows any more is null: its item is passed over.
 * @throws Refusal `bad_shape`, see `matchItems`
 */
export async function resultsOfItems<T>(
  reader: AnswerReader<T>,
  whole: WholeAnswer,
  lookups: readonly (LookupInput | null)[],
): Promise<{ readonly results: readonly ItemResult<T>[]; readonly credits: number; readonly namesAll: boolean }> {
  const { batch } = whole;
  const known = lookups.map((lookup) => lookup ?? {});
  const found = await matchItems(batch, whole.items, known);
  const results: ItemResult<T>[] = [];
  let credits = 0;
  let namesAll = true;
  for (const [position, lookup] of lookups.entries()) {
    const result = lookup === null || !found.has(position) ? null : await resultOfItem(reader, whole, found.get(position), lookup);
    if (result !== null && result !== 'later') {
      credits += result.meta.credits;
      namesAll &&= result.kind !== 'ok' || result.meta.namesNoCredits !== true;
    }
    results.push(result);
    if (position % ITEMS_A_TURN === ITEMS_A_TURN - 1) await nextTurn();
  }
  return { results: withoutOthers(reader, whole, results, known, found), credits, namesAll };
}

/** The results without the records of other lookups. An item by position about an address that nobody asked for counts as left out. */
function withoutOthers<T>(
  reader: AnswerReader<T>,
  { batch }: WholeAnswer,
  results: readonly ItemResult<T>[],
  lookups: readonly LookupInput[],
  items: ReadonlyMap<number, unknown>,
): readonly ItemResult<T>[] {
  const keys = ownKeysOf(lookups);
  const refused = (said: string, { meta }: CallResult<T>): CallResult<T> =>
    reader.refused(new Refusal('bad_shape', `${batch.items.key}: ${said}`), meta);
  const isByPosition = batch.itemId === null && lookups.length > 1;
  let [records, exchanged] = [0, 0];
  const own = results.map((result, position) => {
    const [item, lookup] = [items.get(position), lookups[position] ?? {}];
    const record = recordOf(result);
    if (record === null) return result;
    records++;
    if (isOfAnother(item, record, lookup, keys)) {
      exchanged++;
      return refused('the record for this lookup has the key of another one', result as CallResult<T>);
    }
    return isByPosition && isAboutAnother(item, record['email'], lookup) ? null : result;
  });
  if (exchanged * 2 <= records) return own;
  // The answer as a whole is out of order, so that its misses are other lookups', too.
  const isMiss = (result: ItemResult<T>): result is CallResult<T> => result !== null && result !== 'later' && result.kind === 'miss';
  return own.map((result) => (isMiss(result) ? refused('most records of the answer have the keys of other lookups', result) : result));
}

/** The list of items in an answer. @throws Refusal `bad_shape`, `bad_mapping` */
export async function itemsIn(mapping: Mapping, { input }: Said): Promise<readonly unknown[]> {
  const value = await evaluate(mapping, input);
  if (Array.isArray(value)) return value;
  // JSONata makes the only entry of a list that it finds the value itself.
  if (typeof value === 'object' && value !== null) return [value];
  throw new Refusal('bad_shape', `${mapping.key}: expected a list, got ${inWords(value)}`);
}

async function resultOfItem<T>(
  reader: AnswerReader<T>,
  { batch, said: whole, options }: WholeAnswer,
  body: unknown,
  lookup: LookupInput,
): Promise<ItemResult<T>> {
  const { credits, name, poll } = reader.operation;
  let { meta } = whole.answer;
  meta = { ...meta, credits: 0 };
  try {
    if (body === CONTRADICTION) throw new Refusal('bad_shape', `${batch.items.key}: two items for one lookup contradict each other`);
    const { itemStatus } = batch;
    const status = itemStatus === null ? whole.input.status : statusOf(itemStatus, await evaluate(itemStatus, body));
    meta = { ...meta, status };
    const text = body === undefined ? '' : JSON.stringify(body);
    let said: Said = { input: { ...whole.input, status, body }, answer: { ...whole.answer, status, text, meta } };
    if (credits !== null) said = await reader.withCredits(said, credits);
    ({ meta } = said.answer);
    const judgement = await reader.judged(said, { ...options, lookup: true });
    if (judgement.kind === 'pending') {
      if (batch.poll !== undefined) return 'later';
      if ((poll?.ticket ?? null) !== null) throw laterBatch(name);
      return { kind: 'retryable', code: 'pending', detail: 'the answer comes later', retryAfterMs: null, meta };
    }
    const result = await reader.taken(judgement, said, lookup, text);
    if (result.kind !== 'miss') return result;
    // The answer as a whole was no 404: it comes from the provider.
    const { form: _form, ...miss } = result;
    return miss;
  } catch (error) {
    return reader.refused(error, meta);
  }
}

/** The record of a match; null for any other result. */
function recordOf(result: ItemResult<unknown>): LookupInput | null {
  if (result === null || result === 'later' || result.kind !== 'ok') return null;
  const record = isObject(result.value) ? result.value['record'] : null;
  return isObject(record) ? record : null;
}

function statusOf(mapping: Mapping, value: unknown): number {
  const status = typeof value === 'string' ? Number(value) : value;
  if (typeof status === 'number' && Number.isSafeInteger(status) && status >= 100 && status <= 599) return status;
  throw new Refusal('bad_shape', `${mapping.key}: expected a status from 100 to 599, got ${inWords(value, { showText: true })}`);
}
