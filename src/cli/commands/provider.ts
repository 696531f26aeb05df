/** `millrace provider check | new` */
import { UsageError, type ExitCode } from '../../util/errors.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { checkFlags } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';

const ACTIONS = ['check', 'new'] as const;
const HINT = 'millrace provider check FILE tries a definition; millrace provider new DOCUMENT begins one from an OpenAPI document.';

/** Reads the word after the command, and runs that action. */
export async function provider(invocation: Invocation): Promise<ExitCode> {
  const [word, ...keys] = invocation.keys;
  const action = ACTIONS.find((name) => name === word);
  if (action === undefined) throw unknownAction(word);
  checkFlags(`provider ${action}`, invocation);
  const rest = { ...invocation, action, keys };
  return action === 'check'
    ? (await import('../provider-check.ts')).providerCheck(rest)
    : (await import('../provider-new.ts')).providerNew(rest);
}

function unknownAction(word: string | undefined): UsageError {
  if (word === undefined)
    return new UsageError('unknown_command', 'millrace provider needs to know what to do: check or new', { hint: HINT });
  return new UsageError('unknown_command', `There is no command "provider ${word.slice(0, 80)}"${didYouMean(nearest(word, ACTIONS))}`, {
    hint: HINT,
  });
}
