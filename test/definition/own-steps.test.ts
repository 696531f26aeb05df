/** Custom steps of a job: their names, and the columns that its providers declare. */
import { describe, expect, test } from 'vitest';
import { compileOwnSteps, checkSteps } from '../../src/definition/own-steps.ts';
import { compiled } from '../providers/definition/support.ts';

const ORIGIN = { layer: 'file', path: 'job.yaml', key: 'steps', line: 3 } as const;
const vendorText = (name: string, step: string, key: string): string =>
  `name: ${name}\nbaseUrl: https://x.example\noperations:\n  ${step}:\n    keys: [${key}]\n    request: {path: "/{${key}}"}\n`;
const vendor = (name: string, operation: string) => ({
  name,
  definition: compiled(`${vendorText(name, 'phone', 'phone')}    ${operation}\n`),
});
const RECORD = 'record: {line_type: body.type, score: body.score}';
const A = vendor('a', `${RECORD}\n    columns: {line_type: text}`);
const NONE = vendor('b', RECORD);
const OTHER = vendor('c', `${RECORD}\n    columns: {line_type: any}\n    decides: true`);

describe('the declaration of a custom step', () => {
  test('two providers may declare the same columns, or one of them alone', () => {
    for (const providers of [[A], [A, NONE], [NONE, A], [A, A]]) {
      const [spec] = compileOwnSteps(['enrich', 'phone'], () => providers, ORIGIN);
      expect(spec).toMatchObject({ name: 'phone', columns: ['line_type'], rank: null, isOwn: true });
      expect([...(spec?.fields ?? [])]).toEqual([
        ['line_type', 'text'],
        ['score', 'any'],
      ]);
    }
    expect(compileOwnSteps(['enrich', 'phone'], () => [NONE], ORIGIN)[0]?.columns).toEqual([]);
  });

  test('two providers that declare other columns are refused with both, and the line of the steps', () => {
    expect(() => compileOwnSteps(['enrich', 'phone'], () => [A, OTHER], ORIGIN)).toThrow(
      /a and c declare other columns for the step phone: line_type \(text\) and line_type \(any\) \(job\.yaml, line 3\)/,
    );
  });

  test('a job whose steps decide nothing is refused, and one whose definition says so is not', () => {
    expect(() => compileOwnSteps(['phone'], () => [A], ORIGIN)).toThrow(/no step of this job decides the outcome of a row: phone/);
    expect(compileOwnSteps(['phone'], () => [OTHER], ORIGIN)[0]?.rank).toBe(4);
    expect(compileOwnSteps(['phone', 'verify'], () => [A], ORIGIN)[0]?.rank).toBeNull();
  });

  test('a step that no provider has is refused with the nearest name of all', () => {
    expect(() => checkSteps(['enrich', 'phon'], [A], ORIGIN)).toThrow(/there is no step "phon"; did you mean phone\?/);
    expect(() => checkSteps(['enrch'], [A], ORIGIN)).toThrow(/there is no step "enrch"; did you mean enrich\?/);
    expect(() => checkSteps(['phone', 'enrich'], [A], ORIGIN)).not.toThrow();
  });
});

test.each([
  ['input', /"input" cannot name a step/],
  ['result', /"result" cannot name a step/],
  ['total', /"total" cannot name a step/],
  ['Phone', /"Phone" cannot name a step/],
  ['enrihc', /There is no key operations\.enrihc; did you mean operations\.enrich\?/],
])('an operation of the name %s is refused', (name, message) => {
  const text = (more: string): string => `${vendorText('x', name, 'phone')}    record: {a: body.a}\n${more}`;
  expect(() => compiled(text(''))).toThrow(message);
});

test('columns belong to custom steps, and name fields of the record', () => {
  const of = (name: string, more: string) => () => compiled(`${vendorText('x', name, 'email')}    record: {title: body.a}\n    ${more}\n`);
  expect(of('enrich', 'columns: {title: text}')).toThrow(/operations\.enrich\.columns is for a custom step, and enrich is a standard one/);
  expect(of('enrich', 'decides: true')).toThrow(/operations\.enrich\.decides is for a custom step/);
  expect(of('work', 'columns: {titel: text}')).toThrow(/columns names titel, and its record has no such field; did you mean title\?/);
  expect(of('work', 'columns: {title: string}')).toThrow(/must be text, integer, number, boolean, list, any, got "string"/);
  expect(of('work', 'columns: {title: text}')).not.toThrow();
});
