/** Writes the models, enums and error codes of the Ruby library, and their signatures. */
import type { Api, Emitter, Enum, ErrorCode, EventType, Field, Shape, Type } from './model.ts';
import { callSignatures, enumSignatures, errorSignatures, modelSignatures, versionSignature } from './ruby-signatures.ts';
import { constantName, errorName, indented, rubyComment, rubyFile } from './ruby-text.ts';

const LIBRARY = 'ruby/lib/millrace';
const SIGNATURES = 'ruby/sig';
/** Shown by nothing that prints a record. */
const SECRET_FIELDS: readonly string[] = ['secret'];

export const emitRuby: Emitter = (api) => [
  { path: `${LIBRARY}/models.rb`, text: modelsFile(api) },
  { path: `${LIBRARY}/enums.rb`, text: rubyFile(api.enums.map(enumModule)) },
  { path: `${LIBRARY}/codes.rb`, text: codesFile(api) },
  { path: `${LIBRARY}/version.rb`, text: rubyFile([`# As the User-Agent has it.\nVERSION = "${api.version}"`]) },
  { path: `${SIGNATURES}/models.rbs`, text: modelSignatures(api) },
  { path: `${SIGNATURES}/enums.rbs`, text: enumSignatures(api) },
  { path: `${SIGNATURES}/codes.rbs`, text: errorSignatures(api) },
  { path: `${SIGNATURES}/calls.rbs`, text: callSignatures(api) },
  { path: `${SIGNATURES}/version.rbs`, text: versionSignature() },
];

function modelsFile({ models, events }: Api): string {
  return rubyFile([
    ...models.map(modelClass),
    [
      '# The record of the data of each event.',
      'EVENT_MODELS = {',
      ...events.map(({ type, model }: EventType) => `  "${type}" => ${model},`),
      '}.freeze',
      'private_constant :EVENT_MODELS',
    ].join('\n'),
  ]);
}

function modelClass({ name, description, fields }: Shape): string {
  const about = rubyComment(description === '' ? `See ${name} in /openapi.json.` : description);
  return `${about}\nclass ${name} < Model\n${indented(fields.map(fieldLine).join('\n'))}\nend`;
}

function fieldLine({ name, description, type }: Field): string {
  const checked = checkedType(type);
  const options = [...(checked === null ? [] : [checked]), ...(SECRET_FIELDS.includes(name) ? ['secret: true'] : [])];
  const line = `field ${[`:${name}`, ...options].join(', ')}`;
  return description === '' ? line : `${rubyComment(description)}\n${line}`;
}

const CLASSES: Readonly<Partial<Record<Type['kind'], string>>> = {
  string: 'String',
  enum: 'String',
  integer: 'Integer',
  number: 'Numeric',
  boolean: ':boolean',
  object: 'Hash',
};

/** An argument of `field`: a class, `[T]` for a list, `{ each: T }` for a map, `Set[...]` for one of several. Null for anything. */
function checkedType(type: Type): string | null {
  switch (type.kind) {
    case 'list':
    case 'map': {
      const inner = checkedType(type.of);
      if (inner === null) return type.kind === 'list' ? 'Array' : 'Hash';
      return type.kind === 'list' ? `[${inner}]` : `{ each: ${inner} }`;
    }
    case 'union':
      return `Set[${type.of.map(checkedType).join(', ')}]`;
    case 'model':
      return type.name;
    default:
      return CLASSES[type.kind] ?? null;
  }
}

function enumModule({ name, values }: Enum): string {
  const lines = values.map((value) => `${constantName(value)} = "${value}"`);
  return `# Known values. The service may have others.\nmodule ${name}\n${indented(lines.join('\n'))}\nend`;
}

function codesFile({ errors }: Api): string {
  return rubyFile([
    ...errors.map(errorClass),
    [
      '# The class of the error of each code.',
      'ERROR_CLASSES = {',
      ...errors.map(({ code }) => `  "${code}" => ${errorName(code)},`),
      '}.freeze',
      'private_constant :ERROR_CLASSES',
    ].join('\n'),
  ]);
}

function errorClass({ code, status, description }: ErrorCode): string {
  return `${rubyComment(`"${code}", status ${status}. ${description}`)}\nclass ${errorName(code)} < ApiError; end`;
}
