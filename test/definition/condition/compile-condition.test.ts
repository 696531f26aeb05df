import { expect, test } from 'vitest';
import { EXIT } from '../../../src/util/errors.ts';
import { compiled, LEAST, refusalOf } from '../support.ts';

const jobWith = (steps: readonly unknown[], more: object = {}) => compiled({ file: { steps, ...more }, flags: LEAST });
const refusal = (steps: readonly unknown[]): unknown => refusalOf(() => jobWith(steps));

test('a condition of a step is in the job and in its fingerprint, without any provider', () => {
  const when = "enrich.company.employees >= 50 and input.Country = 'DE'";
  const job = jobWith(['enrich', { verify: { when } }]);
  expect(job.conditions).toMatchObject({ verify: { text: when, root: { kind: 'and' } } });
  expect(job.fingerprint['steps.verify.when']).toBe(when);
  expect(Object.keys(jobWith(['enrich', 'verify']).fingerprint)).not.toContain('steps.verify.when');
});

test.each([
  ['a later step', [{ enrich: { when: "verify.result = 'x'" } }, 'verify'], 'verify is not done before: it may be input'],
  [
    'a step that the job lacks',
    ['enrich', { verify: { when: "reveal.mobile = 'x'" } }],
    'the job has no step reveal: it may be input or enrich',
  ],
  ['a mistyped step', ['enrich', { verify: { when: "enrch.title = 'x'" } }], 'there is no "enrch"'],
  ['a mistyped field', ['enrich', { verify: { when: "enrich.titel = 'x'" } }], 'enrich.titel is no field of an answer'],
  ['a text without quotes', ['enrich', { verify: { when: 'enrich.title = VP' } }], 'a text needs quotes: "VP"'],
])('%s is refused with its column', (_what, steps, message) => {
  expect(refusal(steps)).toMatchObject({
    exitCode: EXIT.config,
    code: 'bad_condition',
    message: expect.stringMatching(new RegExp(`^\\w+\\.when: ${message.replaceAll('.', '\\.')}.*at column \\d+ of `)),
  });
});

test('input.where takes a text, which the flag takes too, and knows no results', () => {
  const text = 'input.Country in ["DE", "AT"]';
  expect(compiled({ flags: { ...LEAST, 'input.where': text } }).input.where).toMatchObject({ text });
  expect(refusalOf(() => compiled({ file: { input: { uri: 'a.csv', where: "enrich.title = 'x'" } }, flags: LEAST }))).toMatchObject({
    message: expect.stringContaining('enrich is not done before: it may be input'),
  });
});
