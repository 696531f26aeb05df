/** Guesses which endpoints of a document answer which step. Pure. */
import type { OperationName } from '../compiled-provider.ts';
import { ConfigError } from '../../util/errors.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { inputsOf, keysOf } from './guess-input.ts';
import { textOf, type Endpoint, type OpenApiDocument } from './openapi-document.ts';
import { specOf, STEPS } from '../../steps/registry.ts';

export interface GuessedOperation {
  readonly name: OperationName;
  readonly endpoint: Endpoint;
}

export interface Guessed {
  readonly operations: readonly GuessedOperation[];
  /** Endpoints that may be of use and are not taken, such as `POST /people/bulk`. */
  readonly others: readonly string[];
}

/** Many lookups at once, and what is no lookup at all. */
const MANY = /bulk|batch/i;
const NO_LOOKUP = new RegExp(
  'account|credit|usage|balance|webhook|billing|team|campaign|sequence|auth|login|token|quota|ping|health|suppress|' +
    'unsubscribe|blacklist|export',
  'i',
);
const MAX_OTHERS = 12;

/**
 * @param paths those to take; empty: the likeliest of each step
 * @throws ConfigError for a path that the document lacks, and when no endpoint looks like a lookup
 */
export function guessOperations(document: OpenApiDocument, paths: readonly string[]): Guessed {
  const endpoints = document.endpoints();
  const known = [...new Set(endpoints.map(({ path }) => path))];
  const unknown = paths.find((path) => !known.includes(path));
  if (unknown !== undefined)
    throw new ConfigError('openapi_path', `The document has no path ${unknown.slice(0, 100)}${didYouMean(nearest(unknown, known))}`, {
      hint: `Its paths: ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', ...' : ''}.`,
    });
  const scored = endpoints
    .filter(({ path }) => paths.length === 0 || paths.includes(path))
    .flatMap((endpoint) => STEPS.map((name) => ({ name, endpoint, score: scoreOf(document, endpoint, name, paths.length > 0) })))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score);
  const taken = new Map<OperationName, Endpoint>();
  for (const { name, endpoint } of scored) if (!taken.has(name) && ![...taken.values()].includes(endpoint)) taken.set(name, endpoint);
  if (taken.size === 0)
    throw new ConfigError('openapi_no_lookup', 'No path of the document looks like a lookup of a person, a company or an address', {
      hint: `Name one: --path PATH. Its paths: ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', ...' : ''}.`,
    });
  const operations = STEPS.flatMap((name) => {
    const endpoint = taken.get(name);
    return endpoint === undefined ? [] : [{ name, endpoint }];
  });
  const others = endpoints.filter(
    (endpoint) => ![...taken.values()].includes(endpoint) && STEPS.some((name) => specOf(name).words.test(wordsOf(endpoint))),
  );
  return { operations, others: others.slice(0, MAX_OTHERS).map(({ method, path }) => `${method} ${path}`) };
}

function wordsOf({ path, operation }: Endpoint): string {
  return `${path} ${textOf(operation['operationId'])} ${textOf(operation['summary'])}`;
}

/** 0: it cannot be. @param isNamed whether the reader has named its path */
function scoreOf(document: OpenApiDocument, endpoint: Endpoint, name: OperationName, isNamed: boolean): number {
  const { path, operation } = endpoint;
  const words = wordsOf(endpoint);
  const inputs = inputsOf(document, endpoint, name);
  const keys = keysOf(inputs, name);
  if (keys.length === 0) return 0;
  if (!isNamed && (endpoint.method === 'PUT' || endpoint.method === 'PATCH')) return 0;
  if (!isNamed && (MANY.test(path) || NO_LOOKUP.test(path) || inputs.isList)) return 0;
  if (!isNamed && inputs.path.some(({ part }) => part === null)) return 0;
  let score = specOf(name).words.test(path) ? 6 : specOf(name).words.test(words) ? 3 : 0;
  // A step whose words are missing is taken only where its path was named.
  if (score === 0) return isNamed ? 0.5 : 0;
  const others = STEPS.filter((one) => one !== name && specOf(one).words.test(path));
  score -= name === 'enrich' ? others.length * 3 : 0;
  if (name === 'company') score += keys.length === 1 ? 2 : 0;
  if (name !== 'company' && keys[0] === 'domain') score -= 4;
  if (name === 'reveal') score += keys.some((key) => key.startsWith('name')) ? 2 : -1;
  if (/search|list|count|autocomplete|suggest/i.test(path)) score -= 3;
  if (operation['deprecated'] === true) score -= 3;
  return score;
}
