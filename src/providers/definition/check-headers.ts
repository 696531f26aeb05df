/** Headers that a definition must not set, because the client writes them. Pure. */
import { refusalAt, type DefinitionFile } from './definition-file.ts';
import { HEADER_NAME } from './schema-key.ts';
import type { RawProvider } from './schema.ts';

/** By name, what to do instead. */
const REFUSED: Readonly<Record<string, string>> = {
  authorization: 'Say how the API key is sent: `authentication: {bearer: true}`.',
  'proxy-authorization': 'The proxy comes from HTTPS_PROXY.',
  cookie: 'Providers with an API key need none.',
  'content-type': 'Say `bodyType: json` or `bodyType: form`.',
  ...Object.fromEntries(
    [
      'host',
      'content-length',
      'transfer-encoding',
      'connection',
      'keep-alive',
      'upgrade',
      'te',
      'trailer',
      'expect',
      'accept-encoding',
    ].map((name) => [name, 'The client writes it itself.']),
  ),
};

/** Whether a definition may set a header of this name, but for those of its authentication. */
export function maySetHeader(name: string): boolean {
  return HEADER_NAME.test(name) && !Object.hasOwn(REFUSED, name.toLowerCase());
}

/** @param section `headers`, or that of a request */
export function checkHeaders(definition: DefinitionFile, raw: RawProvider, section: string, names: readonly string[]): void {
  const own: Readonly<Record<string, string>> = {
    ...(raw.authentication?.header === undefined ? {} : { [raw.authentication.header.toLowerCase()]: '`authentication` sends it.' }),
    ...(raw.idempotency === undefined ? {} : { [raw.idempotency.header.toLowerCase()]: '`idempotency` sends it.' }),
  };
  const seen = new Set<string>();
  for (const name of names) {
    const lower = name.toLowerCase();
    const key = `${section}.${name}`;
    const hint = own[lower] ?? (Object.hasOwn(REFUSED, lower) ? REFUSED[lower] : undefined);
    if (hint !== undefined) throw refusalAt(definition, key, 'bad_header', `${key}: a definition cannot set this header`, hint);
    if (seen.has(lower))
      throw refusalAt(definition, key, 'bad_header', `${key}: the header is given twice`, 'Upper and lower case do not count.');
    seen.add(lower);
  }
}
