/** The document that the reference shows: the service's own, with what only readers need. Pure. */
import { ERRORS, type ErrorCode } from '../http/problem.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { HEADERS, POST_HEADERS } from '../openapi/headers.ts';
import { PROBLEM_NOTES } from '../openapi/problems.ts';
import { codeSamples, libraryInstallations, type CodeExamples } from './code-samples.ts';

/** @param examples in code */
export function referenceDocument(document: OpenApiDocument, examples: CodeExamples): OpenApiDocument {
  return {
    ...document,
    info: {
      ...document.info,
      description: [document.info['description'], headerSection(), errorSection()].join('\n\n'),
      'x-scalar-sdk-installation': libraryInstallations(),
    },
    paths: Object.fromEntries(
      Object.entries(document.paths).map(([path, methods]) => [
        path,
        Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, shown(operation, examples)])),
      ]),
    ),
  };
}

/** With its examples in code. The navigation shows no Markdown. */
function shown(operation: Readonly<Record<string, unknown>>, examples: CodeExamples): Readonly<Record<string, unknown>> {
  const { operationId, summary } = operation;
  return { ...operation, summary: String(summary).replaceAll('`', ''), 'x-codeSamples': codeSamples(String(operationId), examples) };
}

function headerSection(): string {
  const answered = Object.entries(HEADERS).map(([name, { description, example }]) =>
    row(`\`${name}\``, description, `\`${String(example)}\``),
  );
  const sent = Object.entries(POST_HEADERS).map(([name, { description }]) => row(`\`${name}\` (sent with any POST)`, description, ''));
  return ['## Headers\n', row('Header', 'Meaning', 'Example'), row('---', '---', '---'), ...answered, ...sent].join('\n');
}

/** A heading for each code, so that each has a link of its own: its title, because Scalar takes the underscores out of headings. */
function errorSection(): string {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).map((code) => {
    const { status, title, retryable } = ERRORS[code];
    const later = retryable ? ' The same request may work later.' : '';
    return `### ${title}\n\n\`${code}\`, status ${status}. ${PROBLEM_NOTES[code]}${later}`;
  });
  return ['## Errors\n', 'Every error is a [Problem](#models/Problem) with one of these codes.\n', codes.join('\n\n')].join('\n');
}

function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
}
