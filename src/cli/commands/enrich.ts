/** `millrace enrich KEY... | -` */
import type { ExitCode } from '../../util/errors.ts';
import type { Invocation } from '../invocation.ts';
import { askService, KINDS } from '../one-off.ts';

/** A miss is an answer; the exit code is 1 when a key could not be looked up. */
export function enrich(invocation: Invocation): Promise<ExitCode> {
  return askService(KINDS.enrich, invocation, ['json']);
}
