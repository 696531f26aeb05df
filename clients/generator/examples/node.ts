/** Writes the examples for Node. */
import type { Answer } from './calls.ts';
import { before, behind, fits, layOut, valueCode, type Code, type Literals, type Style } from './layout.ts';
import { camelCaseMethod, hugging, plural, quoted, SERVICE, type ExampleWriter } from './write-example.ts';

const STYLE: Style = { columns: 88, indent: '  ' };

const LITERALS: Literals = {
  text: (value) => quoted(value, "'", '"'),
  list: (parts) => ({ open: '[', parts, close: ']' }),
  object: (fields) => ({ open: '{', parts: fields.map(([name, value]) => behind(`${name}: `, value)), close: '}', padding: ' ' }),
};

const CLIENT = valueCode({ apiKey: SERVICE.key, baseUrl: SERVICE.url }, LITERALS);

export const nodeExample: ExampleWriter = ({ method, given, params, reads, note, upload, answer }) => {
  const fields = { ...params?.values, ...(upload === undefined ? {} : { file: upload }) };
  const parts = [...given, ...(params === undefined ? [] : [fields])].map((value) => valueCode(value, LITERALS));
  const call = hugging(`client.${camelCaseMethod(method)}(`, parts, ')');
  const content =
    reads?.as === 'lines' ? `(await readFile('${reads.file}', 'utf8')).trim().split('\\n')` : `await readFile('${reads?.file}')`;
  return [
    ...(reads === undefined ? [] : ["import { readFile } from 'node:fs/promises';\n"]),
    "import { DataServiceClient } from 'millrace';\n\n",
    ...(note === undefined ? [] : [`// ${note}\n`]),
    ...(reads === undefined ? [] : [`const ${reads.variable} = ${content};\n`]),
    `${layOut(before(behind('const client = new DataServiceClient(', CLIENT), ');'), STYLE, 0)}\n`,
    ...statements(call, answer).map((line) => `${line}\n`),
    'await client.close();\n',
  ].join('');
};

function statements(call: Code, answer: Answer | null): string[] {
  const lay = (code: Code): string => layOut(code, STYLE, 0);
  if (answer === null) return [lay(before(behind('await ', call), ';'))];
  const { kind, name, field } = answer;
  const shown = `console.log(${name}${field === undefined ? '' : `.${field}`});`;
  if (kind === 'one') return [lay(before(behind(`const ${name} = await `, call), ';')), shown];
  const [begin, wait] = kind === 'each' ? ['for await', ''] : ['for', 'await '];
  const loop = before(behind(`${begin} (const ${name} of ${wait}`, call), ') {');
  if (fits(loop, STYLE, 0)) return [lay(loop), `  ${shown}`, '}'];
  const all = plural(name);
  return [lay(before(behind(`const ${all} = ${wait}`, call), ';')), `${begin} (const ${name} of ${all}) {`, `  ${shown}`, '}'];
}
