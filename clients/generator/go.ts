/** Writes the models, parameters, enums and error codes of the Go library, as gofmt would. */
import { goName } from './go-names.ts';
import type { Api, Emitter, Enum, Field, Shape, Type } from './model.ts';
import { NOTICE, wrap } from './text.ts';

const FOLDER = 'go';
const COLUMNS = 110;
/** Go has a type of its own for error codes: each is an error that `errors.Is` finds. */
const CODES = 'ErrorCode';

export const emitGo: Emitter = (api) => [
  { path: `${FOLDER}/models.go`, text: modelsFile(api) },
  { path: `${FOLDER}/params.go`, text: file('', api.params.map(paramsStruct)) },
  { path: `${FOLDER}/enums.go`, text: file('', api.enums.filter(({ name }) => name !== CODES).map(enumType)) },
  { path: `${FOLDER}/codes.go`, text: codesFile(api) },
  {
    path: `${FOLDER}/version.go`,
    text: file('', [`// Version is the version of this library, as the User-Agent has it.\nconst Version = "${api.version}"`]),
  },
];

function modelsFile({ models, events }: Api): string {
  const cases = events.map(({ type, model }) => `\tcase "${type}":\n\t\treturn new(${model})\n`);
  return file('import "encoding/json"', [
    ...models.flatMap(modelStruct),
    [
      '// newEventData makes the record that the data of an event is read into; nil for an unknown type.',
      `func newEventData(event EventName) any {\n\tswitch event {\n${cases.join('')}\t}\n\treturn nil\n}`,
    ].join('\n'),
  ]);
}

function modelStruct({ name, description, fields }: Shape): string[] {
  const lines = fields.map((field) => line(field, modelType(field.type, field.nullable || !field.required)));
  return [
    `${about(name, description, 'an answer of the service, or a part of one')}\ntype ${name} struct {\n\tObject\n\n${aligned(lines)}}`,
    [
      '// UnmarshalJSON reads the record, and keeps all of its fields.',
      `func (r *${name}) UnmarshalJSON(data []byte) error {`,
      `\ttype plain ${name}`,
      '\tr.Object = Object{raw: string(data)}',
      '\treturn json.Unmarshal(data, (*plain)(r))',
      '}',
    ].join('\n'),
  ];
}

function paramsStruct({ name, description, fields }: Shape): string {
  const lines = fields.map((field) => line(field, paramType(field.type, field.required), field.required));
  return `${about(name, description, 'what a call takes')}\ntype ${name} struct {\n${aligned(lines)}}`;
}

function enumType({ name, values }: Enum): string {
  const rows = values.map((value) => ({ comment: '', cells: [goName(`${name}_${value}`), name, `= "${value}"`] }));
  return [
    `// ${name} is one of the values below, or one that this version does not know.\ntype ${name} string`,
    `// Known values of ${name}.\nconst (\n${aligned(rows)})`,
  ].join('\n\n');
}

function codesFile({ errors }: Api): string {
  const rows = errors.map(({ code, status, description }) => ({
    comment: `Status ${status}. ${description}`,
    cells: [`Err${goName(code)}`, CODES, `= "${code}"`],
  }));
  return file('', [`// The codes of the service. Use them with errors.Is.\nconst (\n${aligned(rows)})`]);
}

interface Row {
  readonly comment: string;
  readonly cells: readonly string[];
}

function line(field: Field, type: string, always = false): Row {
  return { comment: field.description, cells: [goName(field.name), type, `\`json:"${field.name}${always ? '' : ',omitempty'}"\``] };
}

/** Lines whose cells stand below each other. A comment begins another block, as it does for gofmt. */
function aligned(rows: readonly Row[]): string {
  const blocks: Row[][] = [];
  for (const row of rows) {
    const last = blocks.at(-1);
    if (row.comment !== '' || last === undefined) blocks.push([row]);
    else last.push(row);
  }
  return blocks.map(alignedBlock).join('');
}

function alignedBlock(rows: readonly Row[]): string {
  const width = (column: number): number => Math.max(...rows.map(({ cells }) => cells[column]?.length ?? 0));
  return rows
    .map(({ comment, cells: [name = '', type = '', end = ''] }) => {
      const before = wrap(comment, COLUMNS).map((words) => `\t// ${words}\n`);
      return `${before.join('')}\t${name.padEnd(width(0))} ${type.padEnd(width(1))} ${end}\n`;
    })
    .join('');
}

/** Texts and lists that are missing are empty. Numbers and booleans that may be missing are pointers, because 0 and false say something. */
function modelType(type: Type, optional: boolean): string {
  switch (type.kind) {
    case 'string':
      return 'string';
    case 'integer':
      return optional ? '*int64' : 'int64';
    case 'number':
      return optional ? '*float64' : 'float64';
    case 'boolean':
      return optional ? '*bool' : 'bool';
    case 'list':
      return `[]${modelType(type.of, false)}`;
    case 'map':
      return 'map[string]float64';
    case 'union':
      return 'any';
    case 'enum':
      return type.name;
    case 'model':
    case 'params':
      return optional ? `*${type.name}` : type.name;
    default:
      return 'json.RawMessage';
  }
}

function paramType(type: Type, required: boolean): string {
  switch (type.kind) {
    case 'integer':
      return required ? 'int' : '*int';
    case 'boolean':
      return required ? 'bool' : '*bool';
    case 'list':
      // A list of booleans has one of them.
      return type.of.kind === 'boolean' ? '*bool' : `[]${paramType(type.of, true)}`;
    case 'params':
      return required ? type.name : `*${type.name}`;
    case 'enum':
      return type.name;
    case 'object':
      return 'map[string]any';
    case 'any':
      return 'any';
    default:
      return 'string';
  }
}

function about(name: string, description: string, otherwise: string): string {
  const text = description === '' ? `${name} is ${otherwise}.` : `${name}: ${description}`;
  return wrap(text, COLUMNS)
    .map((words) => `// ${words}`)
    .join('\n');
}

function file(before: string, parts: readonly string[]): string {
  const head = `// Code ${NOTICE.replace(/\. Do not edit: run .*$/, '; DO NOT EDIT.').replace('Generated', 'generated')}`;
  return `${[head, 'package millrace', ...(before === '' ? [] : [before]), ...parts].join('\n\n')}\n`;
}
