/** The examples that the reference shows of an operation: in curl, and with each client library. Pure. */
import { CURL } from './examples/curl.ts';
import { GO } from './examples/go.ts';
import { NODE } from './examples/node.ts';
import { PHP } from './examples/php.ts';
import { PYTHON } from './examples/python.ts';
import { RUBY } from './examples/ruby.ts';

/** In the order of the page. `lang` is a name of Scalar, which colours by it. */
const LANGUAGES = [
  { lang: 'curl', label: 'curl', examples: CURL },
  { lang: 'javascript', label: 'Node', examples: NODE },
  { lang: 'python', label: 'Python', examples: PYTHON },
  { lang: 'ruby', label: 'Ruby', examples: RUBY },
  { lang: 'go', label: 'Go', examples: GO },
  { lang: 'php', label: 'PHP', examples: PHP },
] as const;

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
