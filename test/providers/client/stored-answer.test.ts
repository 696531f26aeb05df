import { expect, test } from 'vitest';
import { recordOfStored, storedMiss } from '../../../src/providers/client/stored-answer.ts';
import { definition, OPERATIONS } from '../../support/provider-jobs.ts';

const operation = (miss: string) => {
  const { enrich } = definition('acme', { operations: { enrich: { ...OPERATIONS.enrich, answers: { miss } } } }).operations;
  if (enrich === undefined) throw new Error('the definition has enrich');
  return enrich;
};

test.each([['Not Found'], ['{"a":'], ['"quoted'], ['two\nlines'], ['']])(
  'a miss whose body is the text %j is read as a miss',
  async (body) => {
    const rule = operation('status = 404');
    const stored = storedMiss(rule, { status: 404, headers: {}, body: body === '' ? undefined : body }, body === '' ? null : body);
    expect(stored).not.toContain('\n');
    expect(await recordOfStored(rule, stored ?? '')).toBeNull();
  },
);

test('a miss that an earlier version kept with a bare text is read, too, and its text can be asked for', async () => {
  const stored = '{"status":404,"judged":false,"body":no such person}';
  expect(await recordOfStored(operation('status = 404'), stored)).toBeNull();
  expect(await recordOfStored(operation("body = 'no such person'"), stored)).toBeNull();
});
