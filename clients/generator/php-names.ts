/** Names and types of PHP. */
import type { Type } from './model.ts';
import { NOTICE, pascalCase, wrap } from './text.ts';

const COLUMNS = 120;
const SCALARS = { string: 'string', integer: 'int', number: 'float', boolean: 'bool', any: 'mixed' } as const;

/** `linkedin_url` to `linkedinUrl`: properties and named arguments. */
export function camelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** `job.change` to `JOB_CHANGE`; a value that begins with a minus sorts the other way. */
export function constantName(value: string): string {
  const descending = value.startsWith('-') ? '_DESC' : '';
  return (
    value
      .replace(/^-/, '')
      .replaceAll(/[^A-Za-z0-9]+/g, '_')
      .toUpperCase() + descending
  );
}

/** `internal_error` to `InternalException`. */
export function exceptionName(code: string): string {
  return `${pascalCase(code.replace(/_error$/, ''))}Exception`;
}

/** The type that PHP checks, without null. */
export function nativeType(type: Type): string {
  switch (type.kind) {
    case 'list':
      if (type.orOne === true) return type.of.kind === 'boolean' ? 'bool' : `${nativeType(type.of)}|array`;
      return 'array';
    case 'map':
    case 'object':
    case 'params':
      return 'array';
    case 'enum':
      return 'string';
    case 'union':
      return [...new Set(type.of.map(nativeType))].join('|');
    case 'model':
      return type.name;
    default:
      return SCALARS[type.kind];
  }
}

/** The type that editors and checkers read. `shape` describes what a call takes as an array. */
export function documentedType(type: Type, shape: (name: string) => string): string {
  const within = (of: Type): string => documentedType(of, shape);
  switch (type.kind) {
    case 'list': {
      if (type.orOne !== true) return `list<${within(type.of)}>`;
      return type.of.kind === 'boolean' ? 'bool' : `${within(type.of)}|list<${within(type.of)}>`;
    }
    case 'map':
      return `array<string, ${within(type.of)}|null>`;
    case 'object':
      return 'array<string, mixed>';
    case 'params':
      return shape(type.name);
    case 'enum':
      return `${type.name}::*|string`;
    case 'union':
      return type.of.map(within).join('|');
    default:
      return nativeType(type);
  }
}

/** A type that may be null, as PHP writes it. */
export function orNull(type: string): string {
  if (type === 'mixed') return type;
  return type.includes('|') ? `${type}|null` : `?${type}`;
}

/** Names of models or enums in a type. */
export function namesIn(type: Type, kind: 'model' | 'enum'): string[] {
  if (type.kind === 'list' || type.kind === 'map') return namesIn(type.of, kind);
  if (type.kind === 'union') return type.of.flatMap((one) => namesIn(one, kind));
  return type.kind === kind ? [type.name] : [];
}

/** A comment of prose and, after an empty line, of tags. Nothing without both. */
export function docblock(text: string, tags: readonly string[], indent: string): string {
  const columns = COLUMNS - indent.length - 3;
  const prose = wrap(text.replaceAll('*/', '* /'), columns);
  // The later lines of a tag stand further in.
  const wrapped = tags.flatMap((tag) => wrap(tag, columns - 4).map((line, i) => (i === 0 ? line : `    ${line}`)));
  const lines = prose.length > 0 && tags.length > 0 ? [...prose, '', ...wrapped] : [...prose, ...wrapped];
  if (lines.length === 0) return '';
  const [only = ''] = lines;
  if (lines.length === 1 && indent.length + only.length + 7 <= COLUMNS) return `${indent}/** ${only} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} *${line === '' ? '' : ` ${line}`}\n`).join('')}${indent} */\n`;
}

/** A file with one class. */
export function classFile(namespace: string, uses: readonly string[], text: string): string {
  const imports = [...new Set(uses)].toSorted().map((name) => `use ${name};\n`);
  const head = `<?php\n\n// ${NOTICE}\n\ndeclare(strict_types=1);\n\nnamespace ${namespace};\n\n`;
  return `${head}${imports.length === 0 ? '' : `${imports.join('')}\n`}${text}\n`;
}
