/** Checks the addresses of a definition. Pure. */
import { show } from '../../util/show.ts';
import { refusalAt, type DefinitionFile } from './definition-file.ts';

const HINT = 'Write it whole, without the paths of the operations: https://api.example.com/v1';

/** Origin and path prefix, without a trailing slash. A refused value that may hold a secret is not shown. @throws ConfigError `bad_url` */
export function checkUrl(definition: DefinitionFile, key: string, text: string): string {
  const refuse = (problem: string, hint = HINT): Error => refusalAt(definition, key, 'bad_url', `${key} ${problem}`, hint);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw refuse(`must be a URL${text.includes('@') ? '' : `, got ${show(text)}`}`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refuse('must begin with http:// or https://');
  if (url.username !== '' || url.password !== '')
    throw refuse(
      'must not hold a user name or password',
      'The API key comes from MILLRACE_NAME_API_KEY or MILLRACE_NAME_API_KEY_FILE; `authentication: {basic: {user: NAME}}` sends it.',
    );
  if (url.search !== '' || url.hash !== '')
    throw refuse('must end after its path, without ? or #', 'Parameters go to `query` of a request, the API key to `authentication`.');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
