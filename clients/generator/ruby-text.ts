/** Names and layout of Ruby and of its signatures. */
import { NOTICE, pascalCase, wrap } from './text.ts';

const COLUMNS = 112;

/** `internal_error` to `InternalError`. */
export function errorName(code: string): string {
  return `${pascalCase(code.replace(/_error$/, ''))}Error`;
}

/** `job.change` to `JOB_CHANGE`; a value that begins with a minus sorts the other way. */
export function constantName(value: string): string {
  return `${value.replace(/^-/, '').replaceAll(/\W+/g, '_').toUpperCase()}${value.startsWith('-') ? '_DESC' : ''}`;
}

export function rubyComment(text: string): string {
  return wrap(text, COLUMNS)
    .map((line) => `# ${line}`)
    .join('\n');
}

export function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

/** A file of Ruby whose parts are in the module of the library. */
export function rubyFile(parts: readonly string[]): string {
  return `# frozen_string_literal: true\n\n${signatureFile(parts)}`;
}

export function signatureFile(parts: readonly string[]): string {
  return `# ${NOTICE}\n\nmodule Millrace\n${indented(parts.join('\n\n'))}\nend\n`;
}
