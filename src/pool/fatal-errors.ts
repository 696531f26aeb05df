/** The answers that end a run, in words for the person who meets them. */
import { ConfigError, EXIT, MillraceError } from '../errors.ts';

/** @param found what was in the key's file when it was read again; null: the key came from no file */
export function deniedError(status: number, code: string, detail: string, found: string | null = null): MillraceError {
  const said = `${status} ${code}${detail === '' ? '' : `: ${detail}`}`;
  if (status === 402) return new MillraceError(EXIT.refused, 'out_of_credits', `the service says that the credits are used up (${said})`, { hint: 'Top up, then run the same command: the job resumes where it stopped.' });
  const again = found === null ? '' : `; its file was read again: ${found}`;
  return new MillraceError(EXIT.refused, 'key_refused', `the service refused the API key (${said})${again}`, { hint: 'Set MILLRACE_API_KEY or MILLRACE_API_KEY_FILE to a key of this service, then run the same command.' });
}

export function wrongAddressError(status: number, detail: string): MillraceError {
  return new ConfigError('not_the_service', `this does not look like the data service: ${status}${detail === '' ? '' : ` ${detail}`}`, { hint: 'Check --base-url: it is the part of the address before /v1.' });
}

/** @param waitedMs what was waited already, with no answer but "later" */
export function waitError(askedMs: number, waitedMs: number, maxWaitMs: number): MillraceError {
  const seconds = (ms: number): string => `${Math.ceil(ms / 1_000)} s`;
  const said = askedMs > maxWaitMs
    ? `the service asks to wait ${seconds(askedMs)}, longer than limits.maxWaitMs`
    : `the service has said nothing but "later" for ${seconds(waitedMs)} and asks to wait another ${seconds(askedMs)}, together longer than limits.maxWaitMs`;
  return new MillraceError(EXIT.unavailable, 'wait_too_long', said, { hint: 'Run the same command later: the job resumes.' });
}

export function outageError(ms: number, code: string, detail: string): MillraceError {
  return new MillraceError(EXIT.unavailable, 'service_unavailable', `the service has been unavailable for ${Math.round(ms / 1_000)} s (${code}${detail === '' ? '' : `: ${detail}`})`, { hint: 'Run the same command when it is back: the job resumes.' });
}

export function notSuchAServiceError(answers: number, kind: string): MillraceError {
  return new ConfigError('one_kind_of_answer', `the first ${answers} answers were all ${kind}: this does not look like the right service, or the right input`, {
    hint: 'Check --base-url and the mapped columns. If these misses are real, set --limits.trustMisses.',
  });
}
