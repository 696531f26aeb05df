import { expect, test } from 'vitest';
import { PlanCounting } from '../../../src/job/commands/plan-counting.ts';
import { ASKED_AGAIN, readKeptRecord } from '../../../src/job/commands/kept-record.ts';
import type { LedgerAnswer } from '../../../src/ledger/answer.ts';
import { keysFor } from '../../../src/processor/lookup-keys.ts';
import { isJudged } from '../../../src/providers/client/is-judged.ts';
import { storedAnswer, storedMiss } from '../../../src/providers/client/stored-answer.ts';
import { eachStep } from '../../../src/steps/registry.ts';
import { record } from '../../lookup/bench.ts';
import { jobOf, OPERATIONS } from '../../support/provider-jobs.ts';

const answers = { match: "body.state = 'ok'", miss: "body.state = 'none'" };
const JOB = jobOf({
  steps: ['enrich'],
  providers: { acme: {} },
  definitions: { acme: { operations: { enrich: { ...OPERATIONS.enrich, answers } } } },
});
const [ACME] = JOB.providers;
const operation = ACME?.definition.operations.enrich;
if (ACME === undefined || operation === undefined) throw new Error('the job has the provider');
const input = (state: string) => ({ status: 200, headers: {}, body: { state, name: 'Ana' } });

test('a kept answer is read by the rules of the day, and one that none takes is asked for again', async () => {
  const read = (state: string): unknown => readKeptRecord(ACME, 'enrich', storedAnswer(operation, input(state), null, false));
  expect(await read('ok')).toEqual({ state: 'ok', name: 'Ana' });
  expect(await read('none')).toBeNull();
  expect(await read('maintenance')).toBe(ASKED_AGAIN);
});

test('only an answer without a judgement has to be judged', () => {
  expect(isJudged(storedAnswer(operation, input('ok'), null))).toBe(true);
  expect(isJudged(storedAnswer(operation, input('ok'), null, false))).toBe(false);
  expect(isJudged(storedMiss(operation, input('none'), null) ?? '')).toBe(false);
});

test.each([
  ['an answer that no rule takes', { kind: 'hit', text: storedAnswer(operation, input('maintenance'), null, false) }, [1, 0]],
  ['a kept miss', { kind: 'miss', text: storedMiss(operation, input('none'), null) ?? '' }, [1, 1]],
  ['a match', { kind: 'hit', text: storedAnswer(operation, input('ok'), null) }, [1, 1]],
] as const)('a plan counts %s as a run takes it', async (_what, answer: LedgerAnswer, expected) => {
  const ledger = { fetch: null, scope: () => 1, look: () => answer, close: async () => undefined };
  const orders = eachStep(({ name }) => JOB.waterfalls[name]?.keys ?? []);
  const seen = new Set<string>();
  const keysOf = keysFor(JOB.steps, () => false, orders);
  const counting = new PlanCounting(JOB, keysOf, {}, { add: (key) => seen.size !== seen.add(key).size }, ledger);
  await counting.add(record('ana@works.example'));
  expect([counting.unique, counting.fromLedger]).toEqual(expected);
});
