/** Errors and messages about one of several providers: they name it, its key and its settings. Pure. */
import { keyVariable } from '../../definition/job-provider.ts';
import { EXIT, MillraceError } from '../../util/errors.ts';

/** The code of `providers.NAME.maxCalls` and `maxCredits`, which end the run only where the job waits for the provider. */
export const PROVIDER_LIMIT = 'provider_limit';

/** Errors after which a run may go on without the provider: it stays away, asks to wait for too long, or has no credits left. */
const UNAVAILABLE: ReadonlySet<string> = new Set(['service_unavailable', 'wait_too_long', 'out_of_credits', PROVIDER_LIMIT]);

/** Whether a run may go on without a provider that ended with this error. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof MillraceError && UNAVAILABLE.has(error.code);
}

/** Limits of the whole job, which one of its providers reaches for all. */
const OF_THE_JOB: ReadonlySet<string> = new Set(['max_credits', 'max_calls']);

/** The same error in the words of a job with providers. Other errors than those of a provider are left as they are. */
export function inProvider(error: unknown, name: string): unknown {
  if (!(error instanceof MillraceError) || error.exitCode === EXIT.storage || error.exitCode === EXIT.stopped) return error;
  return OF_THE_JOB.has(error.code) ? error : named(error, name);
}

/** `providers.NAME.maxCalls` or `maxCredits` is reached. @param error in the words of `limits` */
export function providerLimit({ exitCode, message, hint }: MillraceError, name: string): MillraceError {
  const words = wordsOf(name);
  return new MillraceError(exitCode, PROVIDER_LIMIT, words(message), hint === undefined ? {} : { hint: words(hint) });
}

function named(error: MillraceError, name: string): MillraceError {
  const words = wordsOf(name);
  return new MillraceError(error.exitCode, error.code, `${name}: ${words(error.message)}`, {
    ...(error.hint === undefined ? {} : { hint: words(error.hint) }),
    cause: error,
  });
}

function wordsOf(name: string): (text: string) => string {
  return (text) =>
    text
      .replaceAll(' (the part of the address before /v1)', '')
      .replaceAll('it is the part of the address before /v1', 'the paths of its definition are added to it')
      .replaceAll('--base-url', `providers.${name}.baseUrl`)
      .replaceAll('MILLRACE_API_KEY', keyVariable(name))
      .replaceAll(/(?:--limits|limits)\.(maxCredits|maxCalls)/g, `providers.${name}.$1`)
      .replaceAll('--max-calls', `providers.${name}.maxCalls`)
      .replaceAll('the data service', 'this provider');
}

/** A reporter whose messages name the provider. */
type Teller = Record<'detail' | 'info' | 'warn', (event: string, text: string) => void>;

export function tellerOf(reporter: Teller, name: string): Teller {
  const words = (text: string): string => `${name}: ${text}`;
  return {
    detail: (event, text) => reporter.detail(event, words(text)),
    info: (event, text) => reporter.info(event, words(text)),
    warn: (event, text) => reporter.warn(event, words(text)),
  };
}
