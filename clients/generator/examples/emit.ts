/** Writes the examples of every operation, in curl and in each language, into the reference of the service. */
import { OPERATIONS } from '../../../src/service/openapi/operations.ts';
import { operationIds } from '../../conformance/operations.ts';
import type { Emitter, GeneratedFile } from '../model.ts';
import { NOTICE } from '../text.ts';
import { exampleCall, exampleRequest } from './calls.ts';
import { curlExample } from './curl.ts';
import { goExample } from './go.ts';
import { nodeExample } from './node.ts';
import { phpExample } from './php.ts';
import { pythonExample } from './python.ts';
import { rubyExample } from './ruby.ts';
import type { ExampleWriter } from './write-example.ts';

const FOLDER = '../src/service/reference/examples';

const LIBRARIES: Readonly<Record<string, ExampleWriter>> = {
  node: nodeExample,
  python: pythonExample,
  ruby: rubyExample,
  go: goExample,
  php: phpExample,
};

export const emitExamples: Emitter = (api) => {
  const requests = OPERATIONS.map(exampleRequest);
  const calls = requests
    .filter(({ operation }) => operationIds().includes(operation.id))
    .map((request) => ({ id: request.operation.id, call: exampleCall(request) }));
  return [
    file(
      'curl',
      requests.map((request) => [request.operation.id, curlExample(request)]),
    ),
    ...Object.entries(LIBRARIES).map(([name, write]) =>
      file(
        name,
        calls.map(({ id, call }) => [id, write(call, api)]),
      ),
    ),
  ];
};

function file(name: string, examples: readonly (readonly [string, string])[]): GeneratedFile {
  const rows = examples.map(([id, code]) => `  ${id}: \`${escaped(code)}\`,\n`);
  const text = [
    `/** An example of each operation for ${name}, by the operation's id. */\n`,
    `// ${NOTICE}\n\n`,
    `export const ${name.toUpperCase()}: Readonly<Record<string, string>> = {\n${rows.join('')}};\n`,
  ];
  return { path: `${FOLDER}/${name}.ts`, text: text.join('') };
}

/** As the content of a template literal. */
function escaped(code: string): string {
  return code.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${');
}
