/** Writes the models, parameters, enums and error codes of the Node library, which is the package itself. */
import type { Api, Emitter, Enum, Field, Shape, Type } from './model.ts';
import { NOTICE, wrap } from './text.ts';

const FOLDER = '../src/client/library';
const COLUMNS = 140;
const SCALARS = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  any: 'unknown',
  object: 'Readonly<Record<string, unknown>>',
} as const;

export const emitNode: Emitter = (api) => [
  { path: `${FOLDER}/models.ts`, text: modelsFile(api) },
  { path: `${FOLDER}/params.ts`, text: paramsFile(api) },
  { path: `${FOLDER}/shapes.ts`, text: shapesFile(api) },
  { path: `${FOLDER}/version.ts`, text: file('The version of the library.', [`export const VERSION = '${api.version}';`]) },
];

function modelsFile({ enums, models, events }: Api): string {
  return file('The records of the service. Values and fields that are not listed here are kept. Types only.', [
    ...enums.map(enumType),
    ...models.map((model) => interfaceOf(model, '  readonly [field: string]: unknown;\n', modelField)),
    eventData(events),
  ]);
}

function shapesFile({ models }: Api): string {
  const lines = models
    .filter(({ name }) => !/Page$|PageMeta$/.test(name))
    .map(({ name, fields }) => {
      const types = Map.groupBy(
        fields.filter(({ type }) => shapeOf(type) !== 'any'),
        ({ type }) => shapeOf(type),
      );
      const groups = [...types].map(([type, all]) => [type, ...all.map((field) => field.name)].join(' '));
      return shapeLine(name, groups.join('; '));
    });
  return file('The types of the fields of each record, to check answers: `[` is a list, `{` an object of any names, `|` or.', [
    `export const SHAPES = {\n${lines.join('')}} as const;`,
    'export type ShapeName = keyof typeof SHAPES;',
  ]);
}

/** A text in quotes; one that is too long stands in several lines, which are added up. */
function shapeLine(name: string, text: string): string {
  const oneLine = `  ${name}: '${text}',\n`;
  if (oneLine.length <= COLUMNS + 1) return oneLine;
  const lines = wrap(text, COLUMNS - 12);
  return `  ${name}:\n    ${lines.map((line, i) => `'${line}${i < lines.length - 1 ? ' ' : ''}'`).join(' +\n    ')},\n`;
}

function shapeOf(type: Type): string {
  switch (type.kind) {
    case 'list':
      return shapeOf(type.of) === 'any' ? 'any' : `[${shapeOf(type.of)}`;
    case 'map':
      return `{${shapeOf(type.of)}`;
    case 'union':
      return type.of.map(shapeOf).join('|');
    case 'enum':
      return 'string';
    case 'model':
    case 'params':
      return type.name;
    default:
      return type.kind;
  }
}

function eventData(events: Api['events']): string {
  const lines = events.map(({ type, model }) => `  readonly '${type}': ${model};\n`);
  return `/** The \`data\` of each webhook event. */\nexport interface EventData {\n${lines.join('')}}`;
}

function paramsFile({ params, enums }: Api): string {
  const used = enums
    .filter(({ name }) => params.some(({ fields }) => fields.some(({ type }) => hasEnum(type, name))))
    .map(({ name }) => name);
  return file('The parameters of calls. Types only.', [
    importOf(used.toSorted()),
    ...params.map((shape) => interfaceOf(shape, '', paramField)),
  ]);
}

function importOf(names: readonly string[]): string {
  const oneLine = `import type { ${names.join(', ')} } from './models.ts';`;
  return oneLine.length <= COLUMNS ? oneLine : `import type {\n${names.map((name) => `  ${name},\n`).join('')}} from './models.ts';`;
}

function enumType({ name, values }: Enum): string {
  const members = [...values.map((value) => `'${value}'`), '(string & {})'];
  const oneLine = `export type ${name} = ${members.join(' | ')};`;
  return oneLine.length <= COLUMNS ? oneLine : `export type ${name} =\n${members.map((member) => `  | ${member}`).join('\n')};`;
}

function interfaceOf({ name, description, fields }: Shape, first: string, write: (field: Field) => string): string {
  const about = description === '' ? '' : `${comment(description, '')}\n`;
  const lines = fields.map((field) => `${field.description === '' ? '' : `${comment(field.description, '  ')}\n`}  ${write(field)}\n`);
  return `${about}export interface ${name} {\n${first}${lines.join('')}}`;
}

function modelField({ name, type, required, nullable }: Field): string {
  return `readonly ${name}${required ? '' : '?'}: ${typeText(type)}${nullable && type.kind !== 'any' ? ' | null' : ''};`;
}

function paramField({ name, type, nullable }: Field): string {
  return type.kind === 'any'
    ? `readonly ${name}?: unknown;`
    : `readonly ${name}?: ${typeText(type)}${nullable ? ' | null' : ''} | undefined;`;
}

function typeText(type: Type): string {
  switch (type.kind) {
    case 'list': {
      const item = type.of.kind === 'union' ? `(${typeText(type.of)})` : typeText(type.of);
      const list = `readonly ${item}[]`;
      return type.orOne === true ? `${typeText(type.of)} | ${list}` : list;
    }
    case 'map':
      return `Readonly<Record<string, ${typeText(type.of)} | null>>`;
    case 'union':
      return type.of.map(typeText).join(' | ');
    case 'model':
    case 'params':
    case 'enum':
      return type.name;
    default:
      return SCALARS[type.kind];
  }
}

function hasEnum(type: Type, name: string): boolean {
  if (type.kind === 'list' || type.kind === 'map') return hasEnum(type.of, name);
  return type.kind === 'enum' && type.name === name;
}

function comment(text: string, indent: string): string {
  const oneLine = `${indent}/** ${text} */`;
  if (oneLine.length <= COLUMNS) return oneLine;
  return `${indent}/**\n${wrap(text, COLUMNS - indent.length - 3)
    .map((line) => `${indent} * ${line}\n`)
    .join('')}${indent} */`;
}

function file(about: string, parts: readonly string[]): string {
  return `/** ${about} */\n// ${NOTICE}\n\n${parts.join('\n\n')}\n`;
}
