/** The items of an answer to several lookups: each is judged as the answer to a lookup alone would be. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClassifyOptions } from '../../client/classify.ts';
import type { CallResult } from '../../client/types.ts';
import { isObject } from '../../util/is-object.ts';
import type { Mapping, ProviderBatch } from '../compiled-provider.ts';
import type { AnswerReader } from './answer-reader.ts';
import type { Said } from './judge.ts';
import type { LookupInput } from './lookup-text.ts';
import { CONTRADICTION, isAboutAnother, matchItems } from './match-items.ts';
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
  const found = await matchItems(
    batch,
    whole.items,
    lookups.map((lookup) => lookup ?? {}),
  );
  const isByPosition = batch.itemId === null && lookups.length > 1;
  const results: ItemResult<T>[] = [];
  let credits = 0;
  let namesAll = true;
  for (const [position, lookup] of lookups.entries()) {
    const item = found.get(position);
    const result = lookup === null || !found.has(position) ? null : await resultOfItem(reader, whole, item, lookup);
    if (result !== null && result !== 'later') {
      credits += result.meta.credits;
      namesAll &&= result.kind !== 'ok' || result.meta.namesNoCredits !== true;
    }
    results.push(isByPosition && isStranger(result, item, lookup ?? {}) ? null : result);
    if (position % ITEMS_A_TURN === ITEMS_A_TURN - 1) await nextTurn();
  }
  return { results, credits, namesAll };
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

/** Whether an item is about another address than that of its lookup: it counts as left out, and the lookup is asked again alone. */
function isStranger(item: ItemResult<unknown>, body: unknown, lookup: LookupInput): boolean {
  if (item === null || item === 'later' || item.kind !== 'ok') return false;
  if (!isObject(item.value) || !isObject(item.value['record'])) return false;
  return isAboutAnother(body, item.value['record']['email'], lookup);
}

function statusOf(mapping: Mapping, value: unknown): number {
  const status = typeof value === 'string' ? Number(value) : value;
  if (typeof status === 'number' && Number.isSafeInteger(status) && status >= 100 && status <= 599) return status;
  throw new Refusal('bad_shape', `${mapping.key}: expected a status from 100 to 599, got ${inWords(value, { showText: true })}`);
}
