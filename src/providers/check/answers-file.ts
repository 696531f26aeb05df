/** Answers that a vendor's documentation shows, in a file beside the definition: read within bounds and checked. */
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { DocumentKind } from '../../documents/document-kind.ts';
import { isFile, nameOf } from '../../documents/find-document.ts';
import { parseDocument } from '../../documents/parse-document.ts';
import { readDocument } from '../../documents/read-document.ts';
import { ConfigError } from '../../util/errors.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { show } from '../../util/show.ts';
import { keyOf } from '../definition/definition-file.ts';
import { STEPS } from '../../steps/registry.ts';

const ANSWERS: DocumentKind = {
  noun: 'file of recorded answers',
  content: 'list of answers',
  codes: { syntax: 'answers_syntax', unreadable: 'answers_unreadable', tooLarge: 'answers_too_large' },
  quoted: '"{...}"',
  form: 'list of answers',
  adviceFor: () => null,
};

/** The meaning of an answer to one lookup, in a word. */
export const KINDS = [
  'match',
  'miss',
  'suppressed',
  'wait',
  'outOfCredits',
  'denied',
  'pending',
  'refused',
  'retry',
  'wrongAddress',
  'leftOut',
  'unfit',
  'notAsked',
] as const;
export type Kind = (typeof KINDS)[number];

const MAX_ANSWERS = 1_000;
const text = z.string().min(1).max(4_096);
const lookup = z.strictObject({
  email: text.optional(),
  linkedin_url: text.optional(),
  phone: text.optional(),
  name: text.optional(),
  first_name: text.optional(),
  last_name: text.optional(),
  domain: text.optional(),
  company: text.optional(),
});
const expected = z.strictObject({
  kind: z.enum(KINDS),
  record: z.record(z.string(), z.unknown()).optional(),
  credits: z.number().min(0).optional(),
});
const header = z.union([z.string(), z.number(), z.array(z.string())]);
const recorded = z.strictObject({
  name: z.string().min(1).max(200),
  operation: z.enum(STEPS),
  lookups: z.array(lookup).max(1_000).default([]),
  request: z.looseObject({ path: z.string().optional() }).optional(),
  ticket: text.optional(),
  response: z.strictObject({
    status: z.int().min(100).max(599),
    headers: z.record(z.string(), header).default({}),
    body: z.unknown().optional(),
  }),
  source: z.string().optional(),
  expect: z.union([expected, z.array(expected)]).optional(),
});

/** `expect`: for each lookup in turn; one alone holds for all of them. */
export type RecordedAnswer = z.output<typeof recorded>;
export type Expected = z.output<typeof expected>;
export type Lookup = z.output<typeof lookup>;

export interface RecordedAnswers {
  readonly file: string;
  readonly answers: readonly RecordedAnswer[];
}

/** Where the answers of a definition lie when nothing else is said: `acme.answers.json` beside `acme.yaml`. */
export function answersBeside(definition: string): string {
  return join(dirname(definition), `${nameOf(basename(definition))}.answers.json`);
}

/** @param file null: the one beside the definition, if it is there @returns null without any @throws ConfigError naming line and key */
export async function readAnswers(file: string | null, definition: string): Promise<RecordedAnswers | null> {
  const path = file ?? answersBeside(definition);
  if (!(await isFile(path))) {
    if (file === null) return null;
    throw new ConfigError('answers_not_found', `There is no file of recorded answers ${show(file)}`, {
      hint: 'Paths start at the working directory; docs/providers.md has an example of such a file.',
    });
  }
  const { value, lines } = parseDocument(await readDocument(path, ANSWERS), path, ANSWERS);
  return { file: path, answers: checked(value, path, lines) };
}

function checked(value: unknown, path: string, lines: ReadonlyMap<string, number>): readonly RecordedAnswer[] {
  const refuse = (key: string, problem: string, hint?: string): ConfigError => {
    const line = lineOf(key, lines);
    return new ConfigError(
      'bad_answers',
      `${problem} (${path}${line === null ? '' : `, line ${line}`})`,
      hint === undefined ? {} : { hint },
    );
  };
  if (!Array.isArray(value)) throw refuse('', `recorded answers must be a list, got ${show(value)}`, 'docs/providers.md has an example.');
  if (value.length > MAX_ANSWERS) throw refuse('', `there are more than ${MAX_ANSWERS} recorded answers`);
  return value.map((one, index) => {
    const result = recorded.safeParse(one);
    if (result.success) return lookupsMatch(result.data, (problem) => refuse(`[${index}].expect`, problem));
    const [issue] = result.error.issues;
    const key = `[${index}]${issue === undefined || issue.path.length === 0 ? '' : `.${keyOf(issue.path)}`}`;
    if (issue?.code === 'unrecognized_keys') {
      const [name = ''] = issue.keys;
      throw refuse(
        `${key}.${name}`,
        `answers${key} has an unknown key ${name.slice(0, 100)}${didYouMean(nearest(name, namesAt(issue.path)))}`,
      );
    }
    const found = issue?.path.reduce<unknown>((at, part) => (at as Readonly<Record<PropertyKey, unknown>> | undefined)?.[part], one);
    throw refuse(key, found === undefined ? `answers${key} is missing` : `answers${key}: ${issue?.message ?? 'wrong'}, got ${show(found)}`);
  });
}

function lookupsMatch(answer: RecordedAnswer, refuse: (problem: string) => ConfigError): RecordedAnswer {
  const { expect, lookups, name } = answer;
  if (Array.isArray(expect) && expect.length !== lookups.length)
    throw refuse(`expect of the answer "${name}" has ${expect.length} entries for ${lookups.length} lookups`);
  return answer;
}

function namesAt(path: readonly PropertyKey[]): readonly string[] {
  switch (path[0]) {
    case undefined:
      return Object.keys(recorded.shape);
    case 'lookups':
      return Object.keys(lookup.shape);
    case 'response':
      return ['status', 'headers', 'body'];
    default:
      return Object.keys(expected.shape);
  }
}

/** The line of a key, or of the nearest key around it. */
function lineOf(key: string, lines: ReadonlyMap<string, number>): number | null {
  for (let path = key; path !== ''; path = path.replace(/(?:\.[^.[\]]*|\[\d+\])$/, '')) {
    const line = lines.get(path);
    if (line !== undefined) return line;
    if (!/[.[]/.test(path)) break;
  }
  return null;
}
