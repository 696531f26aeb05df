/** Writes the models, parameters, enums and errors of the Python library. */
import type { Api, Emitter, Enum, ErrorCode, Field, Shape, Type } from './model.ts';
import { NOTICE, pascalCase, wrap } from './text.ts';

const FOLDER = 'python/src/millrace';
const COLUMNS = 120;
const SCALARS = { string: 'str', integer: 'int', number: 'float', boolean: 'bool', any: 'Any', object: 'dict[str, Any]' } as const;
/** Words of the language. As the name of a field they get an underscore. */
const KEYWORDS = new Set(['from', 'class', 'import', 'in', 'is', 'not', 'global', 'pass', 'with', 'as']);
/** Shown by nothing that prints a record. */
const SECRET_FIELDS: readonly string[] = ['secret'];

export const emitPython: Emitter = (api) => [
  { path: `${FOLDER}/models.py`, text: modelsFile(api) },
  { path: `${FOLDER}/params.py`, text: paramsFile(api) },
  { path: `${FOLDER}/_codes.py`, text: codesFile(api) },
  { path: `${FOLDER}/_version.py`, text: file('The version of this library.', [`__version__ = "${api.version}"`]) },
];

function modelsFile({ enums, models, events }: Api): string {
  return file('What the service answers. Values and fields that are not listed here are kept.', [
    'from __future__ import annotations',
    'from typing import Any, ClassVar, Literal, TypeAlias',
    'from ._model import Model',
    ...enums.map(literal),
    ...models.map(modelClass),
    `EVENT_MODELS: dict[str, type[Model]] = {\n${events.map(({ type, model }) => `    "${type}": ${model},\n`).join('')}}`,
    allOf([...enums, ...models].map(({ name }) => name)),
  ]);
}

function paramsFile({ params, enums }: Api): string {
  const used = enums.filter(({ name }) => params.some(({ fields }) => fields.some(({ type }) => hasEnum(type, name))));
  return file('What calls take.', [
    'from __future__ import annotations',
    'from collections.abc import Mapping, Sequence\nfrom typing import Any, TypedDict',
    `from .models import ${list(
      used.map(({ name }) => name),
      'from .models import '.length,
    )}`,
    ...params.map(typedDict),
  ]);
}

function codesFile({ errors }: Api): string {
  return file('A class for each error code of the service.', [
    'from __future__ import annotations',
    'from ._errors import ApiError',
    ...errors.map(errorClass),
    `ERROR_CLASSES: dict[str, type[ApiError]] = {\n${errors.map(({ code }) => `    "${code}": ${errorName(code)},\n`).join('')}}`,
    allOf(['ERROR_CLASSES', ...errors.map(({ code }) => errorName(code))]),
  ]);
}

/** The names that `import *` takes. */
function allOf(names: readonly string[]): string {
  const lines = names.toSorted((a, b) => Number(b === b.toUpperCase()) - Number(a === a.toUpperCase()) || (a < b ? -1 : 1));
  return `__all__ = [\n${lines.map((name) => `    "${name}",\n`).join('')}]`;
}

function literal({ name, values }: Enum): string {
  const oneLine = `${name}: TypeAlias = Literal[${values.map((value) => `"${value}"`).join(', ')}]`;
  return oneLine.length <= COLUMNS ? oneLine : `${name}: TypeAlias = Literal[\n${values.map((value) => `    "${value}",\n`).join('')}]`;
}

function modelClass({ name, description, fields }: Shape): string {
  const nested = fields.flatMap((field) => modelsIn(field.type).map((model) => `"${field.name}": ${model}`));
  const secrets = fields.filter((field) => SECRET_FIELDS.includes(field.name)).map((field) => `"${field.name}"`);
  return block(`class ${name}(Model):`, [
    docstring(description === '' ? `See \`${name}\` in \`/openapi.json\`.` : description),
    ...(nested.length === 0 ? [] : [`_models: ClassVar[dict[str, type[Model]]] = ${dict(nested)}`]),
    ...(secrets.length === 0 ? [] : [`_secrets: ClassVar[tuple[str, ...]] = (${secrets.join(', ')},)`]),
    ...fields.map((field) => withDoc(`${identifier(field.name)}: ${modelType(field)}`, field.description)),
  ]);
}

function typedDict({ name, description, fields }: Shape): string {
  return block(`class ${name}(TypedDict, total=False):`, [
    docstring(description === '' ? `What the call takes. See \`/openapi.json\`.` : description),
    ...fields.map((field) => withDoc(`${field.name}: ${paramType(field.type)}${field.nullable ? ' | None' : ''}`, field.description)),
  ]);
}

function errorClass({ code, status, description }: ErrorCode): string {
  return block(`class ${errorName(code)}(ApiError):`, [docstring(`\`${code}\`, status ${status}. ${description}`)]);
}

/** `internal_error` to `InternalError`. */
function errorName(code: string): string {
  return `${pascalCase(code.replace(/_error$/, ''))}Error`;
}

function modelType({ type, required, nullable }: Field): string {
  const text = pythonType(type, (name) => `${name} | str`);
  return nullable || !required ? (text === 'Any' ? text : `${text} | None`) : text;
}

function paramType(type: Type): string {
  if (type.kind === 'object') return 'Mapping[str, Any]';
  if (type.kind !== 'list') return pythonType(type, (name) => `${name} | str`);
  const item = paramType(type.of);
  return type.orOne === true ? `${item} | Sequence[${item}]` : `Sequence[${item}]`;
}

function pythonType(type: Type, ofEnum: (name: string) => string): string {
  switch (type.kind) {
    case 'list':
      return `list[${pythonType(type.of, ofEnum)}]`;
    case 'map':
      return `dict[str, ${pythonType(type.of, ofEnum)} | None]`;
    case 'union':
      return type.of.map((one) => pythonType(one, ofEnum)).join(' | ');
    case 'enum':
      return ofEnum(type.name);
    case 'model':
    case 'params':
      return type.name;
    default:
      return SCALARS[type.kind];
  }
}

function modelsIn(type: Type): string[] {
  if (type.kind === 'list' || type.kind === 'map') return modelsIn(type.of);
  if (type.kind === 'union') return type.of.flatMap(modelsIn);
  return type.kind === 'model' ? [type.name] : [];
}

function hasEnum(type: Type, name: string): boolean {
  if (type.kind === 'list' || type.kind === 'map') return hasEnum(type.of, name);
  return type.kind === 'enum' && type.name === name;
}

function identifier(name: string): string {
  return KEYWORDS.has(name) ? `${name}_` : name;
}

function withDoc(line: string, description: string): string {
  return description === '' ? line : `${line}\n${docstring(description)}`;
}

function docstring(text: string): string {
  const lines = wrap(text.replaceAll('\\', '\\\\').replaceAll('"""', "'''"), COLUMNS - 10);
  return lines.length === 1 && !text.endsWith('"') ? `"""${lines[0]}"""` : `"""${lines.join('\n')}\n"""`;
}

function dict(entries: readonly string[]): string {
  const oneLine = `{${entries.join(', ')}}`;
  return oneLine.length <= COLUMNS - 50 ? oneLine : `{\n${entries.map((entry) => `    ${entry},\n`).join('')}}`;
}

function list(names: readonly string[], before: number): string {
  const sorted = names.toSorted();
  const oneLine = sorted.join(', ');
  return before + oneLine.length <= COLUMNS ? oneLine : `(\n${sorted.map((name) => `    ${name},\n`).join('')})`;
}

/** A class: its first line, and its parts with an empty line after the docstring. */
function block(first: string, [doc = '', ...parts]: readonly string[]): string {
  const body = parts.length === 0 ? [doc] : [doc, '', ...parts];
  return [
    first,
    ...body
      .join('\n')
      .split('\n')
      .map((line) => (line === '' ? '' : `    ${line}`)),
  ].join('\n');
}

/** Classes and what follows them stand two empty lines apart, statements one. */
function file(about: string, parts: readonly string[]): string {
  const isClass = (part: string | undefined): boolean => part?.startsWith('class ') === true;
  const text = parts.map((part, i) => (isClass(part) || (isClass(parts[i - 1]) && i > 0) ? `\n\n${part}\n` : `\n${part}\n`)).join('');
  return `"""${about}"""\n\n# ${NOTICE}\n${text.replace(/^\n/, '')}`;
}
