/** An example as a command. Pure. */
import type { ExampleRequest } from '../example-requests.ts';
import { escape } from '../../../html.ts';

/** HTML: the origin stands in an element of its own, so that the page can put its own address there. */
export function curlCommand({ operation, url, body }: ExampleRequest): string {
  const parts = [
    ...(operation.open === true ? [] : ["-H 'Authorization: Bearer sample-key'"]),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
  ];
  const address = `curl '<span class="origin">http://127.0.0.1:8080</span>${escape(url)}'`;
  return `<pre>${[address, ...parts.map(escape)].join(' \\\n  ')}</pre>`;
}

/** One word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
