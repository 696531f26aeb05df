/** `millrace suppress EMAIL... | -` */
import { EXIT, InputError } from '../../errors.ts';
import type { ExitCode } from '../../errors.ts';
import { checkFlags, storeOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';
import { inBatches, keysFrom } from '../keys-from.ts';

const BATCH = 500;

/** Erases people from a store, for good. */
export async function suppressPeople(invocation: Invocation): Promise<ExitCode> {
  checkFlags('suppress', invocation, ['store']);
  const store = storeOf('suppress', invocation);
  const keys = keysFrom(invocation.keys, 'e-mail address', process.stdin);
  const { suppressCommand } = await import('../../service/suppress-command.ts');
  const { invalid } = await suppressCommand(store, texts(keys));
  if (invalid === 0) return EXIT.ok;
  throw new InputError('bad_email', `${invalid} of what was given ${invalid === 1 ? 'is no address' : 'are no addresses'}; all else is suppressed`, { hint: 'Give whole addresses, such as jane@acme.example.' });
}

/** What is no UTF-8 is no address, and is counted as such. */
async function* texts(keys: ReturnType<typeof keysFrom>): AsyncGenerator<string[]> {
  for await (const batch of inBatches(keys, BATCH)) yield batch.map(({ text }) => text ?? '');
}
