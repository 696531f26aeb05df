/** `millrace suppress EMAIL... | -` */
import { EXIT, InputError } from '../../errors.ts';
import type { ExitCode } from '../../errors.ts';
import { checkFlags, storeOf } from '../flag-values.ts';
import { normaliseEmail } from '../../verification/address.ts';
import type { Invocation } from '../invocation.ts';
import { inBatches, keysFrom } from '../keys-from.ts';

const BATCH = 500;
/** Places that a message names. */
const SHOWN = 20;

/** Erases people from a store, for good. */
export async function suppressPeople(invocation: Invocation): Promise<ExitCode> {
  checkFlags('suppress', invocation, ['store']);
  const store = storeOf('suppress', invocation);
  const keys = keysFrom(invocation.keys, 'e-mail address', process.stdin);
  const { suppressCommand } = await import('../../service/suppress-command.ts');
  const places: number[] = [];
  const { invalid } = await suppressCommand(store, texts(keys, places));
  if (invalid === 0) return EXIT.ok;
  throw new InputError('bad_email', `${invalid} of what was given ${invalid === 1 ? 'is no address' : 'are no addresses'} (${invocation.keys.includes('-') ? 'line' : 'argument'} ${placesText(places)}); all else is suppressed`, { hint: 'Give whole addresses alone, such as jane@acme.example.' });
}

/** What is no UTF-8 is no address, and is counted as such. @param places is told of where those are that are none, from 1: who is not erased must be found again, and a message holds no addresses */
async function* texts(keys: ReturnType<typeof keysFrom>, places: number[]): AsyncGenerator<string[]> {
  for await (const batch of inBatches(keys, () => BATCH)) {
    for (const { place, text } of batch) if (places.length <= SHOWN && normaliseEmail(text ?? '') === null) places.push(place);
    yield batch.map(({ text }) => text ?? '');
  }
}

function placesText(places: readonly number[]): string {
  return `${places.slice(0, SHOWN).join(', ')}${places.length > SHOWN ? ' and others' : ''}`;
}
