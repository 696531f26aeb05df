/** `millrace completion SHELL` */
import { EXIT, UsageError, type ExitCode } from '../../util/errors.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { SHELLS, completionScript, type CompletedCommand, type Shell } from '../completion.ts';
import { checkFlags } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';

/** Prints the script that completes the command in a shell. */
export function completion(invocation: Invocation, commands: readonly CompletedCommand[]): ExitCode {
  checkFlags('completion', invocation);
  const [word = '', extra] = invocation.keys;
  const shell = SHELLS.find((one): one is Shell => one === word);
  if (shell === undefined || extra !== undefined)
    throw new UsageError('bad_shell', `millrace completion takes a shell: ${SHELLS.join(', ')}${didYouMean(nearest(word, SHELLS))}`, {
      hint: 'Such as: millrace completion bash > ~/.local/share/bash-completion/completions/millrace',
    });
  process.stdout.write(completionScript(shell, commands));
  return EXIT.ok;
}
