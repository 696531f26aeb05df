/** A request of a definition: its path split at the placeholders, its mappings compiled, and the keys of the lookup all used. Pure. */
import { partsOf, type ProviderKey } from '../../steps/keys.ts';
import type { Mapping, ProviderRequest } from '../compiled-provider.ts';
import { compileMapping } from '../mapping.ts';
import { checkHeaders } from './check-headers.ts';
import { checkUrl } from './check-url.ts';
import { placeText, refusalAt, type DefinitionFile } from './definition-file.ts';
import type { RawRequest } from './schema.ts';
import { compileExpressions, type Source } from './source.ts';

/** @throws ConfigError naming the key, such as `operations.enrich.request.path` */
export function compileRequest(source: Source, key: string, request: RawRequest): ProviderRequest {
  const { definition, raw } = source;
  const compileAll = (section: string, values: Readonly<Record<string, unknown>> = {}): Record<string, Mapping> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, compileExpressions(source, `${section}.${name}`, value)]));
  const method = request.method ?? (request.body === undefined ? 'GET' : 'POST');
  if (method === 'GET' && request.body !== undefined)
    throw refusalAt(
      definition,
      `${key}.body`,
      'bad_value',
      `${key}.body: a GET request carries no body`,
      'Say `method: POST`, or use `query`.',
    );
  if (request.body === undefined && request.bodyType !== undefined)
    throw refusalAt(definition, `${key}.bodyType`, 'bad_value', `${key}.bodyType needs a body`);
  checkHeaders(definition, raw, `${key}.headers`, Object.keys(request.headers ?? {}));
  return {
    method,
    baseUrl: request.baseUrl === undefined ? null : checkUrl(definition, `${key}.baseUrl`, request.baseUrl),
    path: compilePath(definition, `${key}.path`, request.path),
    query: compileAll(`${key}.query`, request.query),
    headers: compileAll(`${key}.headers`, request.headers),
    body: request.body === undefined ? null : compileExpressions(source, `${key}.body`, request.body),
    bodyType: request.bodyType ?? 'json',
  };
}

function compilePath(definition: DefinitionFile, key: string, path: string): (string | Mapping)[] {
  const refuse = (problem: string, hint: string): Error => refusalAt(definition, key, 'bad_path', `${key} ${problem}`, hint);
  const hint = 'Such as /people/{email}: what stands in braces is a JSONata expression.';
  if (!path.startsWith('/')) throw refuse('must begin with /', hint);
  const parts: (string | Mapping)[] = [];
  let at = 0;
  while (at < path.length) {
    const open = path.indexOf('{', at);
    const literal = path.slice(at, open === -1 ? undefined : open);
    if (literal.includes('}')) throw refuse('has a } without its {', hint);
    if (/[?#]/.test(literal)) throw refuse('must not hold ? or #', 'Parameters go to `query`.');
    if (/[^\x21-\x7e]/.test(literal)) throw refuse('must be printable ASCII without spaces', 'Write other characters percent-encoded.');
    if (literal !== '') parts.push(literal);
    if (open === -1) break;
    const close = closingBrace(path, open);
    if (close === null) throw refuse('has a { without its }', hint);
    parts.push(compileMapping(key, path.slice(open + 1, close), placeText(definition, key)));
    at = close + 1;
  }
  return parts;
}

/** The brace that closes the one at `open`, beside those of the expression itself and those in quotes. */
function closingBrace(text: string, open: number): number | null {
  let depth = 0;
  let quote = '';
  for (let at = open; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (quote !== '') {
      if (char === '\\' && quote !== '`') at += 1;
      else if (char === quote) quote = '';
    } else if (char === '"' || char === "'" || char === '`') quote = char;
    else if (char === '{') depth += 1;
    else if (char === '}') {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return null;
}

/** An expression that may read any part of its input. */
const WHOLE = /\$\$|^\s*\$\s*$|\*|\blookups\s*(?:$|[^.[\s\w])/;

/** @throws ConfigError for a key of the operation that the request never reads, which would ask for something else */
export function checkKeysUsed(
  source: Source,
  operation: string,
  keys: readonly ProviderKey[],
  key: string,
  request: ProviderRequest,
): void {
  const texts = [...request.path.flatMap((part) => (typeof part === 'string' ? [] : [part])), ...Object.values(request.query)];
  const all = [...texts, ...Object.values(request.headers), ...(request.body === null ? [] : [request.body])].map(({ text }) => text);
  if (all.some((text) => WHOLE.test(text))) return;
  for (const [index, name] of keys.entries()) {
    const absent = partsOf(name).find(
      (names) => !names.some((one) => all.some((text) => new RegExp(`(?<![\\w$])${one}(?!\\w)`).test(text))),
    );
    if (absent === undefined) continue;
    throw refusalAt(
      source.definition,
      `${operation}.keys[${index}]`,
      'unused_key',
      `${operation}.keys: ${key} never reads ${absent[0]}, which the key ${name} needs`,
      `Put ${absent[0]} into the path, the query or the body, or take ${name} out of keys.`,
    );
  }
}
