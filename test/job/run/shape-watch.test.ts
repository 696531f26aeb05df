import { beforeEach, describe, expect, it } from 'vitest';
import type { CallMeta, CallResult } from '../../../src/client/types.ts';
import type { PendingAnswer } from '../../../src/client/provider-client.ts';
import { ShapeWatch } from '../../../src/job/run/shape-watch.ts';

const meta: CallMeta = { status: 200, headers: {}, quota: null, requestId: null, credits: 1, latencyMs: 1 };
const good: CallResult<unknown> = { kind: 'ok', value: {}, meta };
const miss: CallResult<unknown> = { kind: 'miss', meta };
const unfit: CallResult<unknown> = { kind: 'rejected', code: 'bad_shape', detail: 'record.name: expected text, got a list', meta };
const refused: CallResult<unknown> = { kind: 'rejected', code: 'bad_address', detail: 'no', meta };
const batch = (...items: readonly (CallResult<unknown> | null)[]): CallResult<unknown> => ({ kind: 'ok', value: items, meta });
const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

describe('a provider whose answers change', () => {
  let told: string[] = [];
  let watch = new ShapeWatch('acme.yaml');
  beforeEach(() => {
    told = [];
    watch = new ShapeWatch('acme.yaml');
    watch.onChange = ({ message }) => void told.push(message);
  });
  const see = (results: readonly CallResult<unknown>[], keys = 1): string[] => {
    for (const result of results) watch.answered({ keys }, result);
    return told;
  };

  it('a changed shape is told once, after a hundred answers in a row, with the field', () => {
    expect(see(times(99, unfit))).toEqual([]);
    expect(see(times(20, unfit))).toEqual([
      'the last 100 lookups were not answered as acme.yaml says: record.name: expected text, got a list',
    ]);
  });

  it('a mapping that makes no request is shown once, and is no changed answer', () => {
    const first: string[] = [];
    watch.onFirst = (text) => void first.push(text);
    const unmade: CallResult<unknown> = { kind: 'rejected', code: 'bad_mapping', detail: 'x', meta: { ...meta, status: 0 } };
    expect(see(times(200, unmade))).toEqual([]);
    expect(first).toEqual(['no request can be made of a lookup as acme.yaml says: x']);
  });

  it('the count begins anew after a match, and goes on after a miss', () => {
    expect(see([...times(99, unfit), good, ...times(99, unfit)])).toEqual([]);
    expect(see([miss, unfit])).toHaveLength(1);
  });

  it('the first unfit answer is shown at once, and only that one', () => {
    const first: string[] = [];
    watch.onFirst = (text) => void first.push(text);
    see([unfit, good, unfit]);
    expect(first).toEqual(['an answer is not as acme.yaml says: record.name: expected text, got a list']);
  });

  it('a few large requests whose answers are no JSON end no run', () => {
    const unreadable: CallResult<unknown> = {
      kind: 'retryable',
      code: 'bad_body',
      detail: 'no JSON',
      retryAfterMs: null,
      unfit: true,
      meta,
    };
    expect(see(times(9, unreadable), 1_000)).toEqual([]);
    expect(see([unreadable], 500)).toHaveLength(1);
  });

  it('the count begins anew after a promise', () => {
    const promise: PendingAnswer = { kind: 'pending', ticket: 't', afterMs: 1, longestMs: 1, meta };
    see(times(99, unfit));
    watch.answered({ keys: 1 }, promise);
    expect(see(times(99, unfit))).toEqual([]);
  });

  it('the count goes on after answers that say nothing of the shape', () => {
    expect(
      see([...times(99, unfit), refused, { kind: 'retryable', code: 'http_500', detail: '', retryAfterMs: null, meta }, unfit]),
    ).toHaveLength(1);
  });

  it('a changed shape is found in the items of batches', () => {
    expect(see([batch(good, ...times(60, unfit)), batch(...times(39, unfit), null)])).toEqual([]);
    expect(see([batch(unfit)])).toHaveLength(1);
  });

  it('a changed shape is found in requests for several addresses that bring no verdict', () => {
    expect(see([unfit], 1_000)).toEqual([]);
    expect(see([unfit], 500)).toHaveLength(1);
  });

  it('a changed shape is not found while some item of each batch is as it should be', () => {
    expect(see(times(10, batch(...times(60, unfit), good)))).toEqual([]);
  });
});
