/** Writes the examples for PHP. */
import { camelCase } from '../php-names.ts';
import type { Answer } from './calls.ts';
import { before, behind, fits, layOut, valueCode, type Code, type Literals, type Style } from './layout.ts';
import { camelCaseMethod, hugging, plural, quoted, SERVICE, type ExampleWriter } from './write-example.ts';

const STYLE: Style = { columns: 90, indent: '    ' };

const LITERALS: Literals = {
  text: (value) => quoted(value, "'", "'"),
  list: (parts) => ({ open: '[', parts, close: ']' }),
  object: (fields) => ({ open: '[', parts: fields.map(([name, value]) => behind(`'${name}' => `, value)), close: ']' }),
  variable: (name) => `$${name}`,
};

export const phpExample: ExampleWriter = ({ method, given, params, reads, note, upload, answer }) => {
  const parts = [
    ...given.map((value) => valueCode(value, LITERALS)),
    ...Object.entries(params?.values ?? {}).map(([name, value]) => behind(`${camelCase(name)}: `, valueCode(value, LITERALS))),
    ...(upload === undefined ? [] : [`file: '${upload}'`]),
  ];
  const open = `$client->${camelCaseMethod(method).replace('.', '->')}(`;
  const call = parts.length === 1 ? hugging(open, parts, ')') : { open, parts, close: ')' };
  const content = reads?.as === 'lines' ? `file('${reads.file}', FILE_IGNORE_NEW_LINES)` : `file_get_contents('${reads?.file}')`;
  return [
    "require 'vendor/autoload.php';\n\n",
    ...(note === undefined ? [] : [`// ${note}\n`]),
    ...(reads === undefined ? [] : [`$${reads.variable} = ${content};\n`]),
    `$client = new Millrace\\Client(apiKey: '${SERVICE.key}', baseUrl: '${SERVICE.url}');\n`,
    ...statements(call, answer).map((line) => `${line}\n`),
  ].join('');
};

function statements(call: Code, answer: Answer | null): string[] {
  const lay = (code: Code): string => layOut(code, STYLE, 0);
  if (answer === null) return [lay(before(call, ';'))];
  const { kind, name, field, isText } = answer;
  const value = `$${name}${field === undefined ? '' : `->${field}`}`;
  const shown = isText === true ? `echo ${value}, PHP_EOL;` : `print_r(${value});`;
  if (kind === 'one') return [lay(before(behind(`$${name} = `, call), ';')), shown];
  const loop = before(behind('foreach (', call), ` as $${name}) {`);
  if (fits(loop, STYLE, 0)) return [lay(loop), `    ${shown}`, '}'];
  const all = `$${plural(name)}`;
  return [lay(before(behind(`${all} = `, call), ';')), `foreach (${all} as $${name}) {`, `    ${shown}`, '}'];
}
