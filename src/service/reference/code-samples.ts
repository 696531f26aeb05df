/** The examples that the reference shows of an operation: in curl, and with each client library. */
import { readFileSync } from 'node:fs';

/** Lines of code by operation and language. `npm run generate:clients` writes them. */
export type CodeExamples = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** As far from `src/service/reference` as from `dist/service/reference`. */
const EXAMPLES = new URL('../../../fixtures/sample/code-examples.json', import.meta.url);

/** The languages in the order of the page. Scalar colours by the name. A client library has the command that installs it. */
const LANGUAGES: readonly { readonly name: string; readonly label: string; readonly install?: string }[] = [
  { name: 'curl', label: 'curl' },
  { name: 'node', label: 'Node', install: 'npm install PATH' },
  { name: 'python', label: 'Python', install: 'pip install PATH/clients/python' },
  { name: 'ruby', label: 'Ruby', install: 'gem "millrace", path: "PATH/clients/ruby"' },
  {
    name: 'go',
    label: 'Go',
    install: 'go mod edit -require=millrace.example/millrace@v0.1.0 -replace=millrace.example/millrace=PATH/clients/go',
  },
  {
    name: 'php',
    label: 'PHP',
    install: 'composer config repositories.millrace path PATH/clients/php\ncomposer require millrace/millrace:@dev',
  },
];

export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** A part of the package: it is there, or the package is broken. */
export function publishedExamples(): CodeExamples {
  return JSON.parse(readFileSync(EXAMPLES, 'utf8')) as CodeExamples;
}

/** The value of `x-codeSamples`, which Scalar and other pages read. @param operation its id */
export function codeSamples(operation: string, examples: CodeExamples): CodeSample[] {
  return LANGUAGES.flatMap(({ name, label }) => {
    const lines = examples[operation]?.[name];
    return lines === undefined ? [] : [{ lang: name, label, source: lines.join('\n') }];
  });
}

/** The value of `x-scalar-sdk-installation`: how to get each client library. */
export function libraryInstallations(): { readonly lang: string; readonly description: string; readonly source: string }[] {
  return LANGUAGES.flatMap(({ name, label, install }) => {
    const description = `From a checkout at PATH. \`docs/clients/${name}.md\` begins with five lines of ${label} that work.`;
    // Shown as it is. Scalar finds the same language in the examples without regard to case.
    return install === undefined ? [] : [{ lang: label, description, source: install }];
  });
}
