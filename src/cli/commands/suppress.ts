/** `millrace suppress EMAIL... | -` */
import { EXIT, InputError } from '../../util/errors.ts';
import type { ExitCode } from '../../util/errors.ts';
import { checkFlags, storeOf } from '../flag-values.ts';
import { normaliseEmail } from '../../verification/address.ts';
import type { Invocation } from '../invocation.ts';
import { inBatches, keysFrom } from '../keys-from.ts';

const BATCH = 500;
/** Bad addresses that a message names. */
const SHOWN = 20;

/** Erases people from a store, for good. */
export async function suppressPeople(invocation: Invocation): Promise<ExitCode> {
  checkFlags('suppress', invocation);
  const store = storeOf('suppress', invocation);
  const keys = keysFrom(invocation.keys, 'e-mail address', process.stdin);
  const { suppressCommand } = await import('../../service/admin/suppress-command.ts');
  const places: number[] = [];
  const { invalid } = await suppressCommand(store, texts(keys, places));
  if (invalid === 0) return EXIT.ok;
  throw new InputError(
    'bad_email',
    `${invalid} of what was given ${invalid === 1 ? 'is no address' : 'are no addresses'} (` +
      `${invocation.keys.includes('-') ? 'line' : 'argument'} ${placesText(places)}); all else is suppressed`,
    { hint: 'Give whole addresses alone, such as jane@acme.example.' },
  );
}

/**
 * The keys as text. A key that is not UTF-8 counts as a bad address.
 * @param places gets the number of each bad address, from 1: the user must find those people again, and a message holds no addresses
 */
async function* texts(keys: ReturnType<typeof keysFrom>, places: number[]): AsyncGenerator<string[]> {
  for await (const batch of inBatches(keys, () => BATCH)) {
    for (const { place, text } of batch) if (places.length <= SHOWN && normaliseEmail(text ?? '') === null) places.push(place);
    yield batch.map(({ text }) => text ?? '');
  }
}

function placesText(places: readonly number[]): string {
  return `${places.slice(0, SHOWN).join(', ')}${places.length > SHOWN ? ' and others' : ''}`;
}
