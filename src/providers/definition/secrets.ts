/** Finds API keys that are written into a definition. No message shows one. Pure. */
import type { ConfigError } from '../../util/errors.ts';
import { isObject } from '../../util/is-object.ts';
import { refusalAt, type DefinitionFile } from './definition-file.ts';

/** Names that mean a credential. */
const SECRET_NAME = /api[-_.]?key|^key$|token|secret|passw|^authori[sz]ation$|bearer|credential/i;
/** Keys whose text names a credential, or is prose. */
const NOT_A_VALUE =
  /^(?:authentication\.(?:header|query|body)|documentation\b.*|title|readOn|use|tls\..*|defaultPlan|idempotency\.header)$/;
const KNOWN_PREFIX = /^(?:sk|pk|rk|key|api|pat|ghp|xox[abp])[-_][\w-]{12,}$|^(?:Bearer|Token|Basic)\s+\S{12,}$|^eyJ[\w-]{10,}\.[\w-]+/i;
/** The shortest text that is taken for a key because of its looks. */
const LONG = 20;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** The refusal of a key that is written into the file. */
export function secretAt(definition: DefinitionFile, key: string): ConfigError {
  return refusalAt(
    definition,
    key,
    'secret_in_definition',
    `${key} looks like an API key, and a definition holds none`,
    "The API key comes from MILLRACE_NAME_API_KEY, or from a file that MILLRACE_NAME_API_KEY_FILE names. NAME is the provider's name in " +
      'the job in upper case, such as MILLRACE_PDL_API_KEY. `authentication` says how requests carry it.',
  );
}

/** @throws ConfigError `secret_in_definition` for text that looks like an API key, wherever it stands */
export function refuseSecrets(definition: DefinitionFile): void {
  const walk = (key: string, name: string, value: unknown): void => {
    if (typeof value === 'string' && !NOT_A_VALUE.test(key) && isSecret(key, name, value)) throw secretAt(definition, key);
    if (Array.isArray(value)) for (const [index, member] of value.entries()) walk(`${key}[${index}]`, name, member);
    else if (isObject(value))
      for (const [child, member] of Object.entries(value)) walk(key === '' ? child : `${key}.${child}`, child, member);
  };
  walk('', '', definition.value);
}

function isSecret(key: string, name: string, text: string): boolean {
  const isExpression = key.startsWith('operations.') && !key.endsWith('.baseUrl');
  const literals = isExpression ? literalsOf(text) : [text];
  if (isSecretName(name) && /(?:^|\.)(?:headers|query|body)\./.test(key)) return literals.some((literal) => literal.length >= 8);
  return literals.some(looksSecret);
}

/** The texts in quotes of an expression, and the literal parts of a path. */
function literalsOf(text: string): readonly string[] {
  const quoted = [...text.matchAll(/'([^']*)'|"([^"]*)"/g)].map(([, single, double]) => single ?? double ?? '');
  return text.startsWith('/') ? [...quoted, ...text.replaceAll(/\{[^}]*\}/g, '/').split(/[/?&=]/)] : quoted;
}

/** One word of letters and digits, too mixed for a name. */
function looksSecret(text: string): boolean {
  if (KNOWN_PREFIX.test(text)) return true;
  if (text.length < LONG || !/^[\w-]+$/.test(text)) return false;
  const digits = text.replaceAll(/\D/g, '').length;
  const changes = [...text.matchAll(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)].length;
  return digits >= 4 && changes >= 3;
}
