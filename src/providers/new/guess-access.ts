/** Guesses the address, the authentication and the name of a provider from its OpenAPI document. Pure. */
import { PROVIDER_NAME } from '../definition/schema.ts';
import { isApiKey } from './guess-input.ts';
import { listOf, textOf, type Endpoint, type OpenApiDocument } from './openapi-document.ts';

export interface Guess {
  /** YAML, such as `{bearer: true}`; null when nothing was found. */
  readonly value: string | null;
  /** Where it comes from, or what is missing, for a comment. */
  readonly comment: string;
}

/** The first server whose address is whole; null without one. */
export function baseUrlOf(document: OpenApiDocument, servers: readonly unknown[] = listOf(document.root['servers'])): string | null {
  for (const one of servers) {
    const server = document.at(one);
    const variables = document.at(server['variables']);
    const url = textOf(server['url']).replaceAll(/\{([^}]*)\}/g, (_, name: string) => textOf(document.at(variables[name])['default']));
    if (!URL.canParse(url)) continue;
    const { protocol, origin, pathname, search, username } = new URL(url);
    if (['http:', 'https:'].includes(protocol) && search === '' && username === '') return origin + pathname.replace(/\/+$/, '');
  }
  return null;
}

export function authenticationOf(document: OpenApiDocument, endpoint: Endpoint): Guess {
  const schemes = document.at(document.at(document.root['components'])['securitySchemes']);
  const wanted = [...listOf(endpoint.operation['security']), ...listOf(document.root['security'])].flatMap((one) =>
    Object.keys(document.at(one)),
  );
  for (const name of [...wanted, ...Object.keys(schemes)]) {
    const value = schemeOf(document.at(schemes[name]));
    if (value !== null) return { value, comment: `guessed: securitySchemes.${name}` };
  }
  const parameter = endpoint.parameters.find((one) => isApiKey(textOf(one['name'])) && ['header', 'query'].includes(textOf(one['in'])));
  if (parameter !== undefined)
    return {
      value: `{${textOf(parameter['in'])}: ${JSON.stringify(textOf(parameter['name']))}}`,
      comment: 'guessed: a parameter has this name',
    };
  return { value: null, comment: 'the document names no way to send the API key' };
}

function schemeOf(scheme: Readonly<Record<string, unknown>>): string | null {
  const type = textOf(scheme['type']).toLowerCase();
  const name = textOf(scheme['name']);
  if (type === 'apikey' && name !== '') {
    if (scheme['in'] === 'header')
      return /^authorization$/i.test(name) && /bearer/i.test(textOf(scheme['description']))
        ? '{bearer: true}'
        : `{header: ${JSON.stringify(name)}}`;
    return scheme['in'] === 'query' ? `{query: ${JSON.stringify(name)}}` : null;
  }
  if (type === 'http' && /^basic$/i.test(textOf(scheme['scheme']))) return '{basic: {password: ""}}';
  return type === 'http' || type === 'oauth2' || type === 'openidconnect' ? '{bearer: true}' : null;
}

/** A definition's name after a title: `Acme Data API` is `acme-data`. */
export function nameAfter(title: string): string {
  const words = title
    .toLowerCase()
    .replaceAll(/\b(?:api|rest|openapi|specification|public|v\d[\d.]*)\b/g, ' ')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  return PROVIDER_NAME.test(words) ? words : 'vendor';
}
