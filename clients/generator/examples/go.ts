/** Writes the examples for Go, as gofmt formats them. */
import { goName } from '../go-names.ts';
import type { Api, Type } from '../model.ts';
import { Variable, type ExampleCall, type ReadFile } from './calls.ts';
import { before, behind, fits, layOut, valueCode, type Code, type Literals, type Style } from './layout.ts';
import { hugging, plural, SERVICE, type ExampleWriter } from './write-example.ts';

const STYLE: Style = { columns: 100, indent: '\t', isAligned: true };

/** Methods whose names `goName` does not know. */
const METHODS: Readonly<Record<string, string>> = { graphql: 'GraphQL', openapi: 'OpenAPI' };
/** Methods whose last argument may be left empty, with what it is then. */
const EMPTY: Readonly<Record<string, string>> = { 'batches.list': 'nil', 'webhooks.deliveries': 'nil', 'batches.results': '""' };
/** Methods whose iterator is a method of what they return. */
const PAGED: readonly string[] = ['search_contacts', 'signals', 'batches.list', 'webhooks.deliveries'];
/** Answers of the type json.RawMessage, which prints as numbers. */
const RAW: readonly string[] = ['answer.Data', 'document'];

const FAILED = ['if err != nil {', '\tlog.Fatal(err)', '}'];

const CLIENT = [
  'client, err := millrace.NewClient(',
  `\tmillrace.WithAPIKey("${SERVICE.key}"),`,
  `\tmillrace.WithBaseURL("${SERVICE.url}"),`,
  ')',
  ...FAILED,
  'ctx := context.Background()',
];

/** Values whose type is not known to the document. */
const LITERALS: Literals = {
  text: goText,
  list: (parts) => ({ open: '[]string{', parts, close: '}' }),
  object: (fields) => ({ open: 'map[string]any{', parts: fields.map(([name, value]) => behind(`"${name}": `, value)), close: '}' }),
};

export const goExample: ExampleWriter = (call, api) => {
  const { reads, answer } = call;
  const lines = [...readLines(call), ...CLIENT, ...statements(call, goCall(call, api))];
  const imports = [
    'context',
    ...(answer === null ? [] : ['fmt']),
    'log',
    ...(reads === undefined ? [] : ['os']),
    ...(reads?.as === 'lines' ? ['strings'] : []),
  ];
  return [
    'package main\n\nimport (\n',
    ...imports.map((name) => `\t"${name}"\n`),
    '\n\t"millrace.example/millrace"\n)\n\nfunc main() {\n',
    ...lines.map((line) => `\t${line}\n`),
    '}\n',
  ].join('');
};

function readLines({ reads, note }: ExampleCall): string[] {
  if (reads === undefined) return [];
  return [...(note === undefined ? [] : [`// ${note}`]), `${reads.variable}, err := os.ReadFile("${reads.file}")`, ...FAILED];
}

function goCall({ method, given, params, reads, upload }: ExampleCall, api: Api): Code {
  const path = method.split('.').map((part) => METHODS[part] ?? goName(part));
  const values = given.map((value) => positional(method, value, api, reads));
  const struct = params === undefined ? [] : [structOf(params.shape, params.values, api, reads)];
  const parts = [
    'ctx',
    ...values,
    // Options of a verification may be nil.
    ...struct.map((one) => (params?.shape === 'VerifyOptions' ? behind('&', one) : one)),
    ...(upload === undefined ? [] : [`millrace.File("${upload}")`]),
    ...(EMPTY[method] === undefined ? [] : [EMPTY[method]]),
  ];
  return hugging(`client.${path.join('.')}(`, parts, ')');
}

function positional(method: string, value: unknown, api: Api, reads: ReadFile | undefined): Code {
  if (method === 'graphql') return { open: 'millrace.GraphQLParams{', parts: [`Query: ${goText(String(value))}`], close: '}' };
  if (method === 'enrich_bulk') return typed({ kind: 'list', of: { kind: 'params', name: 'BulkItem' } }, true, value, api, reads);
  return valueCode(value, LITERALS);
}

function statements({ method, answer }: ExampleCall, call: Code): string[] {
  const lay = (code: Code): string => layOut(code, STYLE, 1);
  if (answer === null) return [`if err := ${lay(call)}; err != nil {`, ...FAILED.slice(1)];
  const { kind, name, field } = answer;
  const all = plural(name);
  const value = field === undefined ? name : `${name}.${goName(field)}`;
  const shown = `fmt.Println(${RAW.includes(value) ? `string(${value})` : value})`;
  if (kind === 'one') return [lay(behind(`${name}, err := `, call)), ...FAILED, shown];
  if (kind === 'list') return [lay(behind(`${all}, err := `, call)), ...FAILED, `for _, ${name} := range ${all} {`, `\t${shown}`, '}'];
  const iterator = PAGED.includes(method) ? '.All()' : '';
  const body = [...FAILED, shown].map((line) => `\t${line}`);
  const loop = before(behind(`for ${name}, err := range `, call), `${iterator} {`);
  if (fits(loop, STYLE, 4)) return [lay(loop), ...body, '}'];
  return [lay(behind(`${all} := `, call)), `for ${name}, err := range ${all}${iterator} {`, ...body, '}'];
}

function structOf(name: string, values: Readonly<Record<string, unknown>>, api: Api, reads: ReadFile | undefined): Code {
  const fields = api.params.find((one) => one.name === name)?.fields ?? [];
  const parts = Object.entries(values).map(([key, value]) => {
    const field = fields.find((one) => one.name === key);
    if (field === undefined) throw new Error(`${name} has no field ${key}`);
    return behind(`${goName(key)}: `, typed(field.type, field.required, value, api, reads));
  });
  return { open: `millrace.${name}{`, parts, close: '}' };
}

/** A value as clients/generator/go.ts declares its type. */
function typed(type: Type, required: boolean, value: unknown, api: Api, reads: ReadFile | undefined): Code {
  const within = (of: Type, one: unknown): Code => typed(of, true, one, api, reads);
  const pointer = (code: string): string => (required ? code : `millrace.Ptr(${code})`);
  if (value instanceof Variable) return reads?.as === 'lines' ? `strings.Fields(string(${value.name}))` : value.name;
  switch (type.kind) {
    case 'integer':
    case 'boolean':
      return pointer(String(value));
    case 'list': {
      if (type.of.kind === 'boolean') return pointer(String(value));
      const items = Array.isArray(value) ? (value as unknown[]) : [value];
      const open = `[]${type.of.kind === 'enum' || type.of.kind === 'params' ? `millrace.${type.of.name}` : 'string'}{`;
      // In a list of structs their name is left out.
      const parts = items.map((item) => within(type.of, item)).map((code) => (type.of.kind === 'params' ? withoutName(code) : code));
      return { open, parts, close: '}' };
    }
    case 'enum':
      return `millrace.${goName(`${type.name}_${String(value)}`)}`;
    case 'params':
      return structOf(type.name, value as Readonly<Record<string, unknown>>, api, reads);
    default:
      return valueCode(value, LITERALS);
  }
}

function withoutName(code: Code): Code {
  return typeof code === 'string' ? code : { ...code, open: code.open.replace(/^.*\{/, '{') };
}

function goText(value: string): string {
  return value.includes('"') && !value.includes('`') ? `\`${value}\`` : JSON.stringify(value);
}
