/** A commented start of a definition from an OpenAPI document. Pure: the day is an argument. */
import { parseDocument } from '../../documents/parse-document.ts';
import { ConfigError } from '../../util/errors.ts';
import { faultsOf } from '../definition/compile-provider.ts';
import { withoutNulls } from '../definition/inherit.ts';
import { PROVIDER_DEFINITION } from '../definition/load-provider.ts';
import { authenticationOf, baseUrlOf, nameAfter } from './guess-access.ts';
import { guessOperations } from './guess-operations.ts';
import { OpenApiDocument, textOf } from './openapi-document.ts';
import { inComment } from './schema-fields.ts';
import { writeOperation } from './write-operation.ts';
import { aligned, commentLines, scalar } from './yaml-text.ts';

export interface NewOptions {
  /** Null: after the title of the document. */
  readonly name: string | null;
  /** Paths to take; empty: the likeliest of each operation. */
  readonly paths: readonly string[];
  /** YYYY-MM-DD. */
  readonly today: string;
}

export interface NewDefinition {
  readonly name: string;
  /** YAML. */
  readonly text: string;
  /** Each thing that is to be filled in by hand. */
  readonly toFill: readonly string[];
}

/** @param file for messages @throws ConfigError for a text that is no OpenAPI 3 document, and for one without lookups */
export function newDefinition(openapi: string, file: string, options: NewOptions): NewDefinition {
  const document = new OpenApiDocument(openapi, file);
  const { operations, others } = guessOperations(document, options.paths);
  const info = document.at(document.root['info']);
  const title = inComment(info['title'], 100) || file;
  const name = options.name ?? nameAfter(title);
  const written = operations.map((operation) => writeOperation(document, operation));
  const [first] = operations;
  const authentication = first === undefined ? { value: null, comment: '' } : authenticationOf(document, first.endpoint);
  const baseUrl = baseUrlOf(document);
  const toFill = [
    ...(baseUrl === null ? ['baseUrl: the document has no whole address'] : []),
    ...(authentication.value === null ? [`authentication: ${authentication.comment}`] : []),
    ...written.flatMap((one) => one.toFill),
  ];
  const page = textOf(document.at(document.root['externalDocs'])['url']);
  const body = [
    `name: ${name}`,
    `title: ${scalar(title)}`,
    ...aligned([
      [
        URL.canParse(page) ? `documentation: [${JSON.stringify(page)}]` : '# documentation: [https://...]',
        'the pages that you compare it with',
      ],
      [`readOn: ${options.today}`, ''],
    ]),
    '',
    ...aligned([
      baseUrl === null ? ['# baseUrl: https://api.example.com', 'TO FILL'] : [`baseUrl: ${scalar(baseUrl)}`, 'guessed: the first server'],
      authentication.value === null
        ? ['# authentication: {bearer: true}', `TO FILL: ${authentication.comment}`]
        : [`authentication: ${authentication.value}`, authentication.comment],
    ]),
    '',
    "# Requests by plan, from the vendor's page about limits. Without plans, headers alone pace the requests.",
    '# defaultPlan: free',
    '# quota:',
    '#   plans:',
    '#     free: [60/minute, 1000/month]',
    '',
    'operations:',
    ...written.flatMap((one) => [...one.lines, '']),
    ...(others.length === 0 ? [] : commentLines('', 'Also in the document, and not taken (--path takes one):', others)),
  ];
  const head = (faults: readonly ConfigError[]): string[] => [
    `# ${title}, begun from ${file === '-' ? 'an OpenAPI document' : inComment(file, 80)} by \`millrace provider new\`.`,
    '# Lines that say "guessed" are guesses: compare each with the vendor\'s pages. docs/providers.md explains every key.',
    ...(toFill.length === 0 ? [] : ['# To fill in:', ...toFill.map((what) => `#   ${what}`)]),
    ...(faults.length === 0
      ? []
      : ['# Faults that `millrace provider check` finds until then:', ...faults.map(({ message }) => `#   ${inComment(message, 110)}`)]),
    `# Then: millrace provider check ${name}.yaml`,
    '',
  ];
  const text = [...head([]), ...body, ''].join('\n').replace(/\n+$/, '\n');
  const faults = faultsIn(text, name);
  return { name, toFill, text: faults.length === 0 ? text : [...head(faults), ...body, ''].join('\n').replace(/\n+$/, '\n') };
}

function faultsIn(text: string, name: string): readonly ConfigError[] {
  const file = `${name}.yaml`;
  try {
    const { value, lines } = parseDocument(text, file, PROVIDER_DEFINITION);
    return faultsOf(withoutNulls({ file, value, places: new Map([...lines].map(([key, line]) => [key, { file, line }])) }));
  } catch (error) {
    if (error instanceof ConfigError) return [error];
    throw error;
  }
}
