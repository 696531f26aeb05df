/** Finds a provider definition, reads it within bounds, and puts it over the definitions that it uses. */
import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DocumentKind } from '../../documents/document-kind.ts';
import { findDocument, isFolder, isPath, namesIn } from '../../documents/find-document.ts';
import { parseDocument } from '../../documents/parse-document.ts';
import { readDocument } from '../../documents/read-document.ts';
import { ConfigError } from '../../util/errors.ts';
import { isObject } from '../../util/is-object.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { show } from '../../util/show.ts';
import { placeText, refusalAt, type DefinitionFile } from './definition-file.ts';
import { inherit, withoutNulls } from './inherit.ts';

/** Definitions that come with the package. Source and build lie at the same depth. */
const PACKAGE_PROVIDERS = fileURLToPath(new URL('../../../jobs/providers', import.meta.url));
const FOLDERS = ['jobs/providers', PACKAGE_PROVIDERS];
/** Definitions in a row that use one another. */
const MAX_CHAIN = 10;

export const PROVIDER_DEFINITION: DocumentKind = {
  noun: 'provider definition',
  content: 'provider',
  codes: { syntax: 'provider_syntax', unreadable: 'provider_unreadable', tooLarge: 'provider_too_large' },
  quoted: '"{...}"',
  adviceFor: () => null,
};

/** Says who asks: the file whose folder paths start at, and the place of the key for messages. */
export interface Asked {
  /** The file that names the definition; null when paths start at the working directory. */
  readonly from: string | null;
  /** Where the reference stands, such as `nightly.yaml, line 3`. */
  readonly place?: string;
}

/**
 * Reads a definition and puts it over those that it uses. A path starts at the folder of the file that names it, else at the working
 * directory. A name is looked for in `jobs/providers/` of the working directory, then of the package.
 * @throws ConfigError: not found, unreadable, too large, bad syntax (with the line), a circle of `use`
 */
export async function loadProvider(ref: string, asked: Asked = { from: null }): Promise<DefinitionFile> {
  return withoutNulls(await load(ref, asked, []));
}

async function load(ref: string, asked: Asked, chain: readonly string[]): Promise<DefinitionFile> {
  const path = await findProvider(ref, asked);
  const identity = await realpath(path).catch(() => path);
  if (chain.includes(identity)) throw circle([...chain.slice(chain.indexOf(identity)), identity], asked);
  if (chain.length >= MAX_CHAIN)
    throw new ConfigError('provider_use', `${path} is used by ${MAX_CHAIN} definitions in a row${placed(asked)}`, {
      hint: 'Copy what is needed into one definition.',
    });
  const own = await parsed(path);
  const use = isObject(own.value) ? own.value['use'] : undefined;
  if (use === undefined || use === null) return own;
  if (typeof use !== 'string' || use === '')
    throw refusalAt(own, 'use', 'bad_value', `use must be the name of a definition, or a path, got ${show(use)}`);
  return inherit(await load(use, { from: path, place: placeText(own, 'use') }, [...chain, identity]), own);
}

async function parsed(path: string): Promise<DefinitionFile> {
  const { value, lines } = parseDocument(await readDocument(path, PROVIDER_DEFINITION), path, PROVIDER_DEFINITION);
  return { file: path, value: value ?? {}, places: new Map([...lines].map(([key, line]) => [key, { file: path, line }])) };
}

async function findProvider(ref: string, asked: Asked): Promise<string> {
  const beside = asked.from === null || isAbsolute(ref) ? null : join(dirname(asked.from), ref);
  // A bare word means a shipped or own definition by its name, never by chance a file beside the one that names it.
  const found =
    beside !== null && (isPath(ref) || /\.(?:ya?ml|json)$/i.test(ref))
      ? ((await findDocument(beside, [])) ?? (await findDocument(ref, FOLDERS)))
      : await findDocument(ref, FOLDERS);
  if (found !== null) return found;
  if (await isFolder(ref))
    throw new ConfigError('provider_not_found', `${show(ref)} is a folder, and not a provider definition${placed(asked)}`);
  const known = await namesIn(FOLDERS);
  const where = isPath(ref) ? '' : ', neither as a path nor under jobs/providers/';
  throw new ConfigError(
    'provider_not_found',
    `There is no provider definition ${show(ref)}${where}${didYouMean(nearest(ref, known))}${placed(asked)}`,
    {
      hint: isPath(ref) ? 'Paths start at the folder of the file that names them.' : `Definitions here: ${known.slice(0, 20).join(', ')}.`,
    },
  );
}

const placed = ({ place }: Asked): string => (place === undefined ? '' : ` (${place})`);

function circle(files: readonly string[], asked: Asked): ConfigError {
  return new ConfigError('provider_use', `use goes in a circle: ${files.join(' > ')}${placed(asked)}`, {
    hint: 'One of these definitions must stand by itself.',
  });
}
