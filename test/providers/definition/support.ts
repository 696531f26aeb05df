import { parseDocument } from '../../../src/documents/parse-document.ts';
import { compileProvider } from '../../../src/providers/definition/compile-provider.ts';
import type { DefinitionFile } from '../../../src/providers/definition/definition-file.ts';
import { withoutNulls } from '../../../src/providers/definition/inherit.ts';
import { PROVIDER_DEFINITION } from '../../../src/providers/definition/load-provider.ts';
import type { CompiledProvider } from '../../../src/providers/compiled-provider.ts';
import type { MillraceError } from '../../../src/util/errors.ts';
import { refusalOf } from '../../definition/support.ts';

/** A definition of one file, `acme.yaml`. */
export function definition(text: string, file = 'acme.yaml'): DefinitionFile {
  const { value, lines } = parseDocument(text, file, PROVIDER_DEFINITION);
  return withoutNulls({ file, value, places: new Map([...lines].map(([key, line]) => [key, { file, line }])) });
}

export function compiled(text: string): CompiledProvider {
  return compileProvider(definition(text));
}

export function refused(text: string): MillraceError {
  return refusalOf(() => compiled(text));
}

/** The smallest valid definition. Lines 1 to 6. */
export const LEAST = `operations:
  enrich:
    keys: [email]
    request:
      path: /people/{email}
    record: {email: body.data.email}
`;

/** A definition of enrich with these lines, from line 5 on. */
export const enrich = (lines: string): string =>
  `operations:\n  enrich:\n    keys: [email]\n    record: body\n${lines.replaceAll(/^/gm, '    ')}\n`;
/** The same with these lines of the request, from line 6 on. */
export const request = (lines: string): string => enrich(`request:\n${lines.replaceAll(/^/gm, '  ')}`);
