/** `millrace provider new`: a commented start of a definition, printed or written. */
import { writeFile } from 'node:fs/promises';
import { readDocument, readDocumentFrom } from '../documents/read-document.ts';
import { isFile } from '../documents/find-document.ts';
import { PROVIDER_NAME } from '../providers/definition/schema.ts';
import { newDefinition } from '../providers/new/new-definition.ts';
import { OPENAPI } from '../providers/new/openapi-document.ts';
import { skeleton } from '../providers/new/skeleton.ts';
import { ConfigError, EXIT, InputError, StorageError, UsageError, type ExitCode } from '../util/errors.ts';
import { show } from '../util/show.ts';
import { textOf } from './flag-values.ts';
import type { Invocation } from './invocation.ts';

/** Never replaces a file. @throws UsageError, ConfigError for a document that cannot be read, InputError for a file that is there */
export async function providerNew(invocation: Invocation): Promise<ExitCode> {
  const [source, extra] = invocation.keys;
  const name = textOf(invocation, 'name');
  const output = textOf(invocation, 'output');
  const paths = [invocation.flags.get('path') ?? []].flat().map(String);
  if (extra !== undefined)
    throw new UsageError('extra_argument', `There is one argument too many: ${JSON.stringify(extra.slice(0, 80))}`, {
      hint: 'millrace provider new takes one OpenAPI document.',
    });
  if (source === undefined && name === null)
    throw new UsageError('no_openapi', 'millrace provider new needs an OpenAPI document, or a name for a skeleton', {
      hint: 'Such as: millrace provider new openapi.yaml, or millrace provider new --name acme',
    });
  if (source === undefined && paths.length > 0) throw new UsageError('flags_conflict', '--path goes with an OpenAPI document');
  if (name !== null && !PROVIDER_NAME.test(name))
    throw new UsageError('bad_value', `--name must be lower-case letters, digits and -, such as acme-data, got ${show(name)}`);
  const today = new Date().toISOString().slice(0, 10);
  const made =
    source === undefined
      ? { name: name ?? '', text: skeleton(name ?? '', today), toFill: [] }
      : newDefinition(await openapiText(source), source, { name, paths, today });
  await give(made.text, output);
  for (const what of made.toFill) process.stderr.write(`millrace: to fill in: ${what}\n`);
  const file = output ?? `${made.name}.yaml`;
  process.stderr.write(`Compare each line with the vendor's pages, then: millrace provider check ${file}\n`);
  return EXIT.ok;
}

async function openapiText(source: string): Promise<string> {
  if (source === '-') return readDocumentFrom(process.stdin, 'standard input', OPENAPI);
  if (/^https?:/i.test(source))
    throw new UsageError('bad_value', 'millrace provider new reads a file, and no address', {
      hint: `Such as: curl -sS ${show(source)} | millrace provider new -`,
    });
  if (await isFile(source)) return readDocument(source, OPENAPI);
  throw new ConfigError('openapi_not_found', `There is no OpenAPI document ${show(source)}`, {
    hint: 'Paths start at the working directory.',
  });
}

async function give(text: string, output: string | null): Promise<void> {
  if (output === null) {
    process.stdout.write(text);
    return;
  }
  try {
    await writeFile(output, text, { flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const hint = 'Name another file: --output FILE.';
    if (code === 'EEXIST') throw new InputError('definition_exists', `${output} is there already, and was left as it is`, { hint });
    throw new StorageError('definition_failed', `${output} could not be written: ${message}`, { hint, cause: error });
  }
  process.stdout.write(`${output}\n`);
}
