/** The examples that the reference shows of an operation: in curl, and with each client library. Pure. */
import { CURL } from './examples/curl.ts';
import { GO } from './examples/go.ts';
import { NODE } from './examples/node.ts';
import { PHP } from './examples/php.ts';
import { PYTHON } from './examples/python.ts';
import { RUBY } from './examples/ruby.ts';

/** The client libraries in the order of the page. Scalar colours by `lang`. */
const LIBRARIES = [
  { lang: 'node', label: 'Node', examples: NODE, page: 'node', install: 'npm install PATH' },
  { lang: 'python', label: 'Python', examples: PYTHON, page: 'python', install: 'pip install PATH/clients/python' },
  { lang: 'ruby', label: 'Ruby', examples: RUBY, page: 'ruby', install: 'gem "millrace", path: "PATH/clients/ruby"' },
  {
    lang: 'go',
    label: 'Go',
    examples: GO,
    page: 'go',
    install: 'go mod edit -require=millrace.example/millrace@v0.1.0 -replace=millrace.example/millrace=PATH/clients/go',
  },
  {
    lang: 'php',
    label: 'PHP',
    examples: PHP,
    page: 'php',
    install: 'composer config repositories.millrace path PATH/clients/php\ncomposer require millrace/millrace:@dev',
  },
] as const;

const LANGUAGES = [{ lang: 'curl', label: 'curl', examples: CURL }, ...LIBRARIES] as const;

export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** The value of `x-codeSamples`, which Scalar and other pages read. @param operation its id */
export function codeSamples(operation: string): CodeSample[] {
  return LANGUAGES.flatMap(({ lang, label, examples }) => {
    const source = examples[operation];
    return source === undefined ? [] : [{ lang, label, source }];
  });
}

/** The value of `x-scalar-sdk-installation`: how to get each client library. */
export function libraryInstallations(): { readonly lang: string; readonly description: string; readonly source: string }[] {
  return LIBRARIES.map(({ label, page, install }) => ({
    // Shown as it is. Scalar finds the same language in the examples without regard to case.
    lang: label,
    description: `From a checkout at PATH. \`docs/clients/${page}.md\` begins with five lines of ${label} that work.`,
    source: install,
  }));
}
