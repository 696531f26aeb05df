/** Writes the examples for curl. */
import type { ExampleRequest } from './calls.ts';
import { behind, layOut, valueCode, type Literals, type Style } from './layout.ts';
import { SERVICE } from './write-example.ts';

const STYLE: Style = { columns: 88, indent: '  ' };

const LITERALS: Literals = {
  text: (value) => JSON.stringify(value),
  list: (parts) => ({ open: '[', parts, close: ']', end: '' }),
  object: (fields) => ({ open: '{', parts: fields.map(([name, value]) => behind(`"${name}": `, value)), close: '}', end: '' }),
};

export function curlExample({ operation, url, body }: ExampleRequest): string {
  const { method, open, raw } = operation;
  const address = `${SERVICE.url}${url}`;
  const [type = ''] = Object.keys(raw ?? {});
  const options = [
    `curl ${method === 'GET' || raw !== undefined || (method === 'POST' && body !== undefined) ? '' : `-X ${method} `}${word(address)}`,
    ...(open === true ? [] : [`-H 'Authorization: Bearer ${SERVICE.key}'`]),
    ...(raw === undefined ? [] : [`-H 'Content-Type: ${type}'`, '-T leads.ndjson']),
    ...(body === undefined ? [] : [`--json ${word(layOut(valueCode(body, LITERALS), STYLE, 1))}`]),
  ];
  return `${options.join(' \\\n  ')}\n`;
}

/** As one word of the shell. */
function word(text: string): string {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
