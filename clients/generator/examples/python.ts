/** Writes the examples for Python, as ruff formats them. */
import type { Answer } from './calls.ts';
import { before, behind, fits, layOut, valueCode, type Code, type Literals, type Style } from './layout.ts';
import { plural, quoted, SERVICE, type ExampleWriter } from './write-example.ts';

const STYLE: Style = { columns: 88, indent: '    ' };

const LITERALS: Literals = {
  text: (value) => quoted(value, '"', "'"),
  list: (parts) => ({ open: '[', parts, close: ']' }),
  object: (fields) => ({ open: '{', parts: fields.map(([name, value]) => behind(`"${name}": `, value)), close: '}' }),
  boolean: (value) => (value ? 'True' : 'False'),
};

export const pythonExample: ExampleWriter = ({ method, given, params, reads, note, upload, answer }) => {
  const parts = [
    ...given.map((value) => valueCode(value, LITERALS)),
    ...Object.entries(params?.values ?? {}).map(([name, value]) => behind(`${name}=`, valueCode(value, LITERALS))),
    ...(upload === undefined ? [] : [`file="${upload}"`]),
  ];
  const call: Code = { open: `client.${method}(`, parts, close: ')' };
  const content = reads?.as === 'lines' ? 'read_text().split()' : 'read_bytes()';
  return [
    ...(reads === undefined ? [] : ['from pathlib import Path\n\n']),
    'from millrace import Client\n\n',
    ...(note === undefined ? [] : [`# ${note}\n`]),
    ...(reads === undefined ? [] : [`${reads.variable} = Path("${reads.file}").${content}\n`]),
    `with Client(api_key="${SERVICE.key}", base_url="${SERVICE.url}") as client:\n`,
    ...statements(call, answer).map((line) => `    ${line}\n`),
  ].join('');
};

function statements(call: Code, answer: Answer | null): string[] {
  const lay = (code: Code): string => layOut(code, STYLE, 1);
  if (answer === null) return [lay(call)];
  const { kind, name, field } = answer;
  const shown = `print(${name}${field === undefined ? '' : `.${field}`})`;
  if (kind === 'one') return [lay(behind(`${name} = `, call)), shown];
  const loop = before(behind(`for ${name} in `, call), ':');
  if (fits(loop, STYLE, 4)) return [lay(loop), `    ${shown}`];
  return [lay(behind(`${plural(name)} = `, call)), `for ${name} in ${plural(name)}:`, `    ${shown}`];
}
