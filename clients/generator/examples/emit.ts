/** Writes the examples of every operation, in curl and in each language, for the reference of the service. */
import { OPERATIONS } from '../../../src/service/openapi/operations.ts';
import { operationIds } from '../../conformance/operations.ts';
import type { Emitter } from '../model.ts';
import { exampleCall, exampleRequest } from './calls.ts';
import { curlExample } from './curl.ts';
import { goExample } from './go.ts';
import { nodeExample } from './node.ts';
import { phpExample } from './php.ts';
import { pythonExample } from './python.ts';
import { rubyExample } from './ruby.ts';
import type { ExampleWriter } from './write-example.ts';

const FILE = '../fixtures/sample/code-examples.json';

const LIBRARIES: Readonly<Record<string, ExampleWriter>> = {
  node: nodeExample,
  python: pythonExample,
  ruby: rubyExample,
  go: goExample,
  php: phpExample,
};

/** The lines of each example, by operation and language. The order is that of the page. */
export const emitExamples: Emitter = (api) => {
  const operations = OPERATIONS.map((operation) => {
    const request = exampleRequest(operation);
    const isCall = operationIds().includes(operation.id);
    const written = Object.entries(isCall ? LIBRARIES : {}).map(
      ([language, write]) => [language, write(exampleCall(request), api)] as const,
    );
    return [
      operation.id,
      Object.fromEntries([['curl', curlExample(request)], ...written].map(([language = '', code = '']) => [language, linesOf(code)])),
    ];
  });
  return [{ path: FILE, text: `${JSON.stringify(Object.fromEntries(operations), null, 2)}\n` }];
};

function linesOf(code: string): string[] {
  return code.trimEnd().split('\n');
}
