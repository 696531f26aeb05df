/** Writes the models, enums and exceptions of the PHP library: a class for each file, as PSR-4 wants it. */
import type { Api, Emitter, Enum, ErrorCode, Field, GeneratedFile, Shape, Type } from './model.ts';
import { callFiles } from './php-calls.ts';
import { camelCase, classFile, constantName, docblock, documentedType, exceptionName, namesIn, nativeType, orNull } from './php-names.ts';

const FOLDER = 'php/src';
/** Functions of PHP that check a type. */
const CHECKS: Readonly<Partial<Record<Type['kind'], string>>> = {
  string: 'is_string(...)',
  enum: 'is_string(...)',
  boolean: 'is_bool(...)',
  integer: 'is_int(...)',
  number: 'self::number(...)',
};
/** Shown by nothing that prints a record. */
const SECRET_FIELDS: readonly string[] = ['secret'];

export const emitPhp: Emitter = (api) => [
  ...api.models.map((model) => fileOf('Model', model.name, modelFile(model))),
  ...api.enums.map((one) => fileOf('Enum', one.name, enumFile(one))),
  ...api.errors.map((error) => fileOf('Exception', exceptionName(error.code), exceptionFile(error))),
  ...callFiles(api).map(({ name, text }) => fileOf('Calls', name, text)),
  fileOf('Internal', 'Catalog', catalogFile(api)),
];

function fileOf(folder: string, name: string, text: string): GeneratedFile {
  return { path: `${FOLDER}/${folder}/${name}.php`, text };
}

function modelFile({ name, description, fields }: Shape): string {
  const secrets = fields.filter((field) => SECRET_FIELDS.includes(field.name));
  const shown = fields.filter((field) => !secrets.includes(field));
  const enums = fields.flatMap(({ type }) => namesIn(type, 'enum'));
  const uses = ['Millrace\\Record', ...enums.map((one) => `Millrace\\Enum\\${one}`)];
  const about = description === '' ? `See \`${name}\` in \`/openapi.json\`.` : description;
  const tags = secrets.map((field) => `@property-read ${orNull(nativeType(field.type))} $${camelCase(field.name)} ${field.description}`);
  const constant =
    secrets.length === 0 ? '' : `    protected const SECRETS = [${secrets.map((field) => `'${field.name}'`).join(', ')}];\n\n`;
  const lines = shown.map((field) => `        $this->${camelCase(field.name)} = ${valueOf(field)};\n`);
  const constructor = [
    `    /** @param array<string, mixed> $fields as in JSON */`,
    `    public function __construct(${secrets.length === 0 ? '' : '#[\\SensitiveParameter] '}array $fields)`,
    '    {',
    '        parent::__construct($fields);',
    `${lines.join('')}    }`,
  ].join('\n');
  const members = `${constant}${shown.map(property).join('\n')}\n${constructor}`;
  const text = `${docblock(about, tags, '')}final readonly class ${name} extends Record\n{\n${members}\n}`;
  return classFile('Millrace\\Model', uses, text);
}

function property({ name, description, type, required, nullable }: Field): string {
  const native = orNull(nativeType(type));
  const documented = documentedType(type, () => 'array');
  const isAlways = required && !nullable && type.kind !== 'any';
  const isPlain = !isAlways && documented === nativeType(type);
  const tag = `@var ${documented}${isAlways || type.kind === 'any' ? '' : '|null'}`;
  return `${docblock(description, isPlain ? [] : [tag], '    ')}    public ${native} $${camelCase(name)};\n`;
}

/** The value of a property, from the JSON object. A missing field is null. */
function valueOf({ name, type }: Field): string {
  const given = `$fields['${name}'] ?? null`;
  const [model] = namesIn(type, 'model');
  if (model === undefined) return type.kind === 'list' || type.kind === 'map' ? valuesOf(type, given) : given;
  if (type.kind === 'model') return `${model}::from(${given})`;
  if (isListOfModels(type)) return `${model}::listFrom(${given})`;
  return `is_array(${given}) ? new ${model}($fields['${name}']) : ${given}`;
}

/** A list or map whose values are checked: PHP itself checks only that it is an array. */
function valuesOf({ kind, of }: Type & { readonly kind: 'list' | 'map' }, given: string): string {
  const check = CHECKS[of.kind];
  return check === undefined ? given : `self::all(${given}, ${check}${kind === 'map' ? ', false' : ''})`;
}

function isListOfModels(type: Type): boolean {
  return type.kind === 'list' && type.of.kind === 'model';
}

function enumFile({ name, values }: Enum): string {
  const lines = values.map((value) => `    public const ${constantName(value)} = '${value}';\n`);
  const about = docblock('Known values. The service may send others.', [], '');
  return classFile('Millrace\\Enum', [], `${about}final class ${name}\n{\n${lines.join('')}}`);
}

function exceptionFile({ code, status, description }: ErrorCode): string {
  const about = docblock(`\`${code}\`, status ${status}. ${description}`, [], '');
  return classFile('Millrace\\Exception', [], `${about}final class ${exceptionName(code)} extends ApiException\n{\n}`);
}

function catalogFile({ version, errors, events }: Api): string {
  const map = (rows: readonly string[]): string => `[\n${rows.map((row) => `        ${row},\n`).join('')}    ]`;
  const exceptions = map(errors.map(({ code }) => `'${code}' => Exception\\${exceptionName(code)}::class`));
  const models = map(events.map(({ type, model }) => `'${type}' => Model\\${model}::class`));
  return classFile(
    'Millrace\\Internal',
    ['Millrace\\Exception', 'Millrace\\Model', 'Millrace\\Record'],
    `${docblock('Classes by the words of the service, and the version of this library.', ['@internal'], '')}final class Catalog
{
    public const VERSION = '${version}';

    /** @var array<string, class-string<Exception\\ApiException>> by code */
    public const EXCEPTIONS = ${exceptions};

    /** @var array<string, class-string<Record>> the data of each webhook event */
    public const EVENTS = ${models};
}`,
  );
}
