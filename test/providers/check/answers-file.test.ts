/** A file of recorded answers: found beside the definition, and refused with its line. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { answersBeside, readAnswers } from '../../../src/providers/check/answers-file.ts';
import { cleanUp } from '../../support/clean-up.ts';

function file(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-answers-'));
  cleanUp(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'acme.answers.json');
  writeFileSync(path, text);
  return path;
}

const ANSWER = `[
  {
    "name": "a match",
    "operation": "enrich",
    "lookups": [{"email": "ada@example.com"}],
    "response": {"status": 200, "body": {}}
  }
]`;

it('answers lie beside the definition, under its name', async () => {
  expect(answersBeside('jobs/providers/acme.yaml')).toBe('jobs/providers/acme.answers.json');
  expect(await readAnswers(null, '/nowhere/acme.yaml')).toBeNull();
  const path = file(ANSWER);
  expect((await readAnswers(null, path.replace('.answers.json', '.yaml')))?.answers[0]?.response.headers).toEqual({});
});

it.each([
  [ANSWER.replace('"operation"', '"opration"'), /answers\[0\].*opration; did you mean operation\?|answers\[0\]\.operation is missing/],
  [ANSWER.replace('"email"', '"mail"'), /answers\[0\]\.lookups\[0\] has an unknown key mail; did you mean email\? \(.*, line 5\)/],
  [ANSWER.replace('200', '"ok"'), /answers\[0\]\.response\.status: .*, got "ok" \(.*, line 6\)/],
  [ANSWER.replace('"lookups": [{"email": "ada@example.com"}]', '"expect": [{"kind": "match"}]'), /has 1 entries for 0 lookups/],
  ['{"name": "one"}', /recorded answers must be a list, got/],
  ['[{"name": ]', /acme\.answers\.json, line 1/],
])('a wrong file is refused with its place: %s', async (text, message) => {
  await expect(readAnswers(file(text), 'acme.yaml')).rejects.toThrow(message);
});

it('a file that is named and not there is refused', async () => {
  await expect(readAnswers('/nowhere/a.json', 'acme.yaml')).rejects.toMatchObject({ code: 'answers_not_found', exitCode: 78 });
});
