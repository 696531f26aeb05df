/** One operation of a new definition, as commented YAML. Pure. */
import { specOf } from '../../steps/registry.ts';
import type { OperationName } from '../compiled-provider.ts';
import { baseUrlOf } from './guess-access.ts';
import { inputsOf, keysOf, type BodyField, type Input, type Inputs } from './guess-input.ts';
import type { GuessedOperation } from './guess-operations.ts';
import { guessRecord, type GuessedField } from './guess-record.ts';
import type { Endpoint, OpenApiDocument } from './openapi-document.ts';
import { fieldsOfAnswer, inComment } from './schema-fields.ts';
import { aligned, commentLines, keyText, scalar } from './yaml-text.ts';

type Line = readonly [text: string, comment: string];

export interface WrittenOperation {
  readonly lines: readonly string[];
  /** Each thing that is to be filled in by hand, with its key. */
  readonly toFill: readonly string[];
}

const GUESSED = 'guessed';
const MAX_OTHERS = 60;

export function writeOperation(document: OpenApiDocument, { name, endpoint }: GuessedOperation): WrittenOperation {
  const inputs = inputsOf(document, endpoint, name);
  const keys = keysOf(inputs, name);
  const toFill: string[] = [];
  const fill = (what: string): void => void toFill.push(inComment(`operations.${name}.${what}`, 200));
  const summary = inComment(endpoint.operation['summary'] ?? endpoint.operation['description']);
  const lines: string[] = [
    `  ${name}:`,
    `    # ${endpoint.method} ${inComment(endpoint.path)}${summary === '' ? '' : `: ${summary}`}`,
    ...aligned([
      [
        `    keys: [${(keys.length === 0 ? [specOf(name).usual[0]] : keys).join(', ')}]`,
        `${GUESSED}: in the order in which a lookup is tried`,
      ],
    ]),
    '    request:',
    ...requestLines(document, endpoint, inputs, fill),
    '    answers:',
    '      # The first rule that is true decides. Without one the status does: take away the # where the vendor says so.',
    ...ruleLines(document, endpoint),
    ...recordLines(document, endpoint, name, fill),
    '    # credits: "status = 200 ? 1 : 0"         # what an answer costs, by the vendor\'s price list',
    ...aligned([['    creditsAtMost: 1', `${GUESSED}: the most that one lookup costs`]]),
  ];
  if (keys.length === 0) fill('keys: the document shows no parameter for a key of a lookup');
  return { lines, toFill };
}

function requestLines(document: OpenApiDocument, endpoint: Endpoint, inputs: Inputs, fill: (what: string) => void): string[] {
  const own = endpoint.servers === null ? null : baseUrlOf(document, endpoint.servers);
  const inPath = new Map(inputs.path.map((input) => [input.name, input]));
  const path = endpoint.path.replaceAll(/\{([^}]*)\}/g, (_, name: string) => {
    const expression = inPath.get(name)?.expression ?? null;
    if (expression === null) fill(`request.path: a value for {${name}}`);
    return `{${expression ?? `'${name.replaceAll(/['\\\p{C}]/gu, '')}'`}}`;
  });
  const head: Line[] = [
    [`      method: ${endpoint.method}`, ''],
    ...(own === null ? [] : [[`      baseUrl: ${scalar(own)}`, ''] as const]),
    [`      path: ${path.includes('{') ? JSON.stringify(path) : scalar(path)}`, ''],
  ];
  const section = (name: string, entries: readonly Input[], filled: (input: Input, indent: string) => Line[]): Line[] => {
    const written = entries.flatMap((input) => filled(input, '        '));
    if (written.length === 0) return [];
    const isEmpty = written.every(([text]) => text.trimStart().startsWith('#'));
    return [[isEmpty ? `      # ${name}:` : `      ${name}:`, ''], ...written];
  };
  const plain =
    (place: string) =>
    (input: Input, indent: string): Line[] => [entryLine(input, indent, place, fill)];
  const body = inputs.isList
    ? listBody(inputs, fill)
    : section('body', inputs.body, (input, indent) => bodyLines(input as BodyField, indent, 'request.body', fill));
  return aligned([
    ...head,
    ...section('query', inputs.query, plain('request.query')),
    ...section('headers', inputs.headers, plain('request.headers')),
    ...body,
    ...(endpoint.method !== 'GET' && inputs.bodyType === 'form' && body.some(([text]) => text === '      body:')
      ? [['      bodyType: form', ''] as const]
      : []),
  ]);
}

/** A body that is a list of lookups gets a list of one. */
function listBody(inputs: Inputs, fill: (what: string) => void): Line[] {
  const inner = inputs.body.flatMap((field) => bodyLines(field, '          ', 'request.body', fill));
  const at = inner.findIndex(([text]) => !text.trimStart().startsWith('#'));
  return at === -1 ? [] : [['      body:', ''], ...asEntry(inner, '        ')];
}

function bodyLines(field: BodyField, indent: string, place: string, fill: (what: string) => void): Line[] {
  const { inner, name } = field;
  if (inner === null) return [entryLine(field, indent, place, fill)];
  const deeper = `${indent}  ${inner.isList ? '  ' : ''}`;
  const lines = inner.fields.flatMap((one) => bodyLines(one, deeper, `${place}.${name}`, fill));
  return [[`${indent}${keyText(name)}:`, ''], ...(inner.isList ? asEntry(lines, `${indent}  `) : lines)];
}

/** The first line that is no comment begins the entry of a list. */
function asEntry(lines: readonly Line[], indent: string): Line[] {
  const at = lines.findIndex(([text]) => !text.trimStart().startsWith('#'));
  return lines.map(([text, comment], index) => (index === at ? [`${indent}- ${text.trimStart()}`, comment] : [text, comment]));
}

function entryLine(
  { name, expression, isRequired, description, part }: Input,
  indent: string,
  place: string,
  fill: (what: string) => void,
): Line {
  const about = description === '' ? '' : `: ${description}`;
  if (expression !== null)
    return [`${indent}${keyText(name)}: ${scalar(expression)}`, `${GUESSED}${part === null ? ', from the example' : ''}${about}`];
  if (isRequired) fill(`${place}.${name}: the document requires it`);
  return [`${indent}# ${keyText(name)}: ...`, `${isRequired ? 'required' : 'optional'}${about}`];
}

const RULES: readonly (readonly [pattern: RegExp, rule: string])[] = [
  [/^402$/, 'outOfCredits'],
  [/^40[13]$/, 'denied'],
  [/^429$/, 'wait'],
  [/^451$/, 'suppressed'],
  [/^404$/, 'miss'],
  [/^202$/, 'pending'],
  [/^4/, 'refused'],
  [/^5/, 'retry'],
  [/^2/, 'match'],
];

/** The rules that the documented statuses suggest, each as a comment. */
function ruleLines(document: OpenApiDocument, { operation }: Endpoint): string[] {
  const byRule = new Map<string, { statuses: string[]; said: string[] }>();
  for (const [status, response] of Object.entries(document.at(operation['responses']))) {
    const rule = RULES.find(([pattern]) => pattern.test(status))?.[1];
    if (rule === undefined) continue;
    const found = byRule.get(rule) ?? { statuses: [], said: [] };
    found.statuses.push(status);
    found.said.push(`${status} ${inComment(document.at(response)['description'], 50)}`.trim());
    byRule.set(rule, found);
  }
  const order = ['suppressed', 'wait', 'outOfCredits', 'denied', 'pending', 'match', 'miss', 'refused', 'retry'];
  const lines = order.flatMap((rule): Line[] => {
    const { statuses, said } = byRule.get(rule) ?? { statuses: [], said: [] };
    return statuses.length === 0 ? [] : [[`      # ${rule}: ${conditionOf(statuses)}`, said.join('; ')]];
  });
  const none: Line = ['      # match: status = 200', 'the document names no statuses'];
  return [
    ...aligned(lines.length === 0 ? [none] : lines),
    ...limitLines(document, operation),
    '      # message: body.message                  # the words of an error',
  ];
}

function conditionOf(statuses: readonly string[]): string {
  const exact = statuses.filter((status) => /^\d{3}$/.test(status));
  const range = statuses.find((status) => !/^\d{3}$/.test(status));
  const parts = [
    ...(exact.length === 0 ? [] : [exact.length === 1 ? `status = ${exact[0]}` : `status in [${exact.join(', ')}]`]),
    ...(range === undefined ? [] : [`(status >= ${range.charAt(0)}00 and status < ${Number(range.charAt(0)) + 1}00)`]),
  ];
  return parts.join(' or ');
}

/** Headers that seem to state a quota. */
function limitLines(document: OpenApiDocument, operation: Endpoint['operation']): string[] {
  const names = Object.values(document.at(operation['responses'])).flatMap((one) => Object.keys(document.at(document.at(one)['headers'])));
  const limits = [...new Set(names)].filter((name) => /limit|remaining|quota|reset|retry-after/i.test(name));
  return limits.length === 0 ? [] : commentLines('      ', 'Headers of the quota (see quota.headers):', limits.slice(0, 20));
}

function recordLines(document: OpenApiDocument, { operation }: Endpoint, name: OperationName, fill: (what: string) => void): string[] {
  const responses = document.at(operation['responses']);
  const success = ['200', '201', '2XX', '2xx', '202', 'default'].find((status) => responses[status] !== undefined);
  const fields = success === undefined ? [] : fieldsOfAnswer(document, document.at(responses[success]));
  const { fields: guessed, others } = guessRecord(fields, name);
  const wanted = specOf(name).columns[0] ?? '';
  const isMissing = !guessed.some((field) => field.name === wanted);
  if (isMissing) fill(`record.${wanted}: the document shows no field for it`);
  const placeholder = isMissing ? [{ name: wanted, expression: `body.${wanted}` }] : [];
  return [
    '    record:                                   # our fields; docs/columns.md and docs/providers.md name them',
    ...aligned([...tree(guessed, GUESSED), ...tree(placeholder, 'TO FILL: not in the document')]),
    ...(others.length === 0 ? [] : commentLines('      ', 'Other fields of the answer:', others.slice(0, MAX_OTHERS))),
  ];
}

/** A long expression stands on lines of its own. */
function fieldLines(name: string, expression: string, comment: string): Line[] {
  const lines = expression.split('\n');
  if (lines.length === 1) return [[`      ${name}: ${scalar(expression)}`, comment]];
  return [[`      ${name}: >-`, comment], ...lines.map((line): Line => [`        ${line}`, ''])];
}

/** Lines of a record; fields of a company stand under `company`. */
function tree(fields: readonly GuessedField[], comment: string): Line[] {
  const own = fields.filter(({ name }) => !name.startsWith('company.'));
  const company = fields.filter(({ name }) => name.startsWith('company.'));
  return [
    ...own.flatMap(({ name, expression }) => fieldLines(name, expression, comment)),
    ...(company.length === 0 ? [] : [['      company:', ''] as const]),
    ...company.map(({ name, expression }): Line => [`        ${name.slice('company.'.length)}: ${scalar(expression)}`, comment]),
  ];
}
