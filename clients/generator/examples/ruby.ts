/** Writes the examples for Ruby. */
import type { Answer } from './calls.ts';
import { before, behind, fits, layOut, valueCode, type Code, type Literals, type Style } from './layout.ts';
import { hugging, plural, quoted, SERVICE, type ExampleWriter } from './write-example.ts';

const STYLE: Style = { columns: 88, indent: '  ' };

const LITERALS: Literals = {
  text: (value) => quoted(value, '"', "'"),
  list: listCode,
  object: (fields) => ({ open: '{', parts: fields.map(([name, value]) => behind(`${name}: `, value)), close: '}', padding: ' ', end: '' }),
};

export const rubyExample: ExampleWriter = ({ method, given, params, reads, note, upload, answer }) => {
  const parts = [
    ...given.map((value) => valueCode(value, LITERALS)),
    ...Object.entries(params?.values ?? {}).map(([name, value]) => behind(`${name}: `, valueCode(value, LITERALS))),
    ...(upload === undefined ? [] : [`file: "${upload}"`]),
  ];
  const content = reads?.as === 'lines' ? `File.readlines("${reads.file}", chomp: true)` : `File.read("${reads?.file}")`;
  return [
    'require "millrace"\n\n',
    ...(note === undefined ? [] : [`# ${note}\n`]),
    ...(reads === undefined ? [] : [`${reads.variable} = ${content}\n`]),
    `client = Millrace::Client.new(api_key: "${SERVICE.key}", base_url: "${SERVICE.url}")\n`,
    ...statements(callCode(`client.${method}`, parts), answer).map((line) => `${line}\n`),
  ].join('');
};

function callCode(name: string, parts: readonly Code[]): Code {
  if (parts.length === 0) return name;
  return parts.length === 1 ? hugging(`${name}(`, parts, ')') : { open: `${name}(`, parts, close: ')', end: '' };
}

function statements(call: Code, answer: Answer | null): string[] {
  const lay = (code: Code): string => layOut(code, STYLE, 0);
  if (answer === null) return [lay(call)];
  const { kind, name, field, isText } = answer;
  const shown = `${isText === true ? 'puts' : 'pp'} ${name}${field === undefined ? '' : `.${field}`}`;
  if (kind === 'one') return [lay(behind(`${name} = `, call)), shown];
  const loop = `.each { |${name}| ${shown} }`;
  if (fits(call, STYLE, loop.length)) return [lay(before(call, loop))];
  return [lay(behind(`${plural(name)} = `, call)), `${plural(name)}${loop}`];
}

/** Several words are written as `%w`. */
function listCode(parts: readonly Code[]): Code {
  const words = parts.flatMap((part) => /^"([\w.]+)"$/.exec(typeof part === 'string' ? part : '')?.[1] ?? []);
  return words.length === parts.length && words.length > 1 ? `%w[${words.join(' ')}]` : { open: '[', parts, close: ']', end: '' };
}
