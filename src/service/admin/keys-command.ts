/** `millrace keys`: the service's API keys. */
import { EXIT, InputError, type ExitCode } from '../../util/errors.ts';
import {
  changeKey,
  createKey,
  isCounted,
  listKeys,
  revokeKey,
  rotateKey,
  type KeyChange,
  type KeyRow,
  type NewKey,
} from '../accounts/keys.ts';
import { storeFailure } from '../store/failure.ts';
import { timeText } from '../store/rows/record-columns.ts';
import { openExistingStore, openStore } from '../store/open-store.ts';

export type KeysAction =
  | ({ readonly kind: 'create' } & NewKey)
  | { readonly kind: 'list'; readonly json: boolean }
  | { readonly kind: 'revoke'; readonly id: string }
  | { readonly kind: 'rotate'; readonly id: string; /** How long the former secret stays valid. */ readonly overlapMs: number }
  | ({ readonly kind: 'update'; readonly id: string } & KeyChange);

/** How long to wait for a store that is being upgraded, milliseconds. */
const WAIT_MS = 60_000;

/**
 * Runs the command. A new key is printed alone on its line, with its id on standard error; a list is a table or one JSON object per line.
 * @throws InputError when the key does not exist
 */
export function keysCommand(path: string, action: KeysAction): ExitCode {
  const store = action.kind === 'create' ? openStore(path, WAIT_MS) : openExistingStore(path, WAIT_MS);
  try {
    switch (action.kind) {
      case 'create':
        show(createKey(store, action));
        break;
      case 'list':
        process.stdout.write(
          action.json
            ? listKeys(store)
                .map((key) => `${JSON.stringify(shown(key))}\n`)
                .join('')
            : table(listKeys(store)),
        );
        break;
      case 'revoke':
        if (!revokeKey(store, action.id)) throw noKey(action.id);
        process.stderr.write(`millrace: ${action.id} is revoked; a running service refuses it within a second.\n`);
        break;
      case 'rotate': {
        const rotated = rotateKey(store, action.id, action.overlapMs);
        if (rotated === null) throw noKey(action.id);
        if (rotated.overlapUntilMs !== null)
          process.stderr.write(`millrace: the former secret is let in too until ${timeText(rotated.overlapUntilMs)}.\n`);
        show(rotated);
        break;
      }
      case 'update': {
        const key = changeKey(store, action.id, action);
        if (key === null) throw noKey(action.id);
        if (key === 'uncounted')
          throw new InputError('credits_not_counted', `the credits of ${action.id} are not counted: it may spend as many as it likes`, {
            hint: 'A key with a number of credits is made with `millrace keys create --credits N`.',
          });
        process.stderr.write(
          `millrace: ${action.id} has the plan ${key.plan}, and credits: ${balance(key)}; a running service knows within a second.\n`,
        );
        break;
      }
      default:
        action satisfies never;
    }
    return EXIT.ok;
  } catch (error) {
    throw storeFailure(error, path);
  } finally {
    store.close();
  }
}

function show({ id, key }: { readonly id: string; readonly key: string }): void {
  process.stderr.write(`millrace: ${id}. The key is shown this once; the store has only its digest.\n`);
  process.stdout.write(`${key}\n`);
}

function noKey(id: string): InputError {
  return new InputError('no_such_key', `there is no key ${JSON.stringify(id.slice(0, 80))} that is in force`, {
    hint: '`millrace keys list` shows their ids.',
  });
}

function shown(key: KeyRow): Record<string, unknown> {
  return {
    id: key.id,
    label: key.label,
    plan: key.plan,
    region: key.region,
    credits: key.credits,
    // A key without a limit has no booked credits: 0 would be wrong.
    credits_used: isCounted(key) ? key.creditsUsed : null,
    calls_used: isCounted(key) ? key.callsUsed : null,
    created_at: timeText(key.createdMs),
    rotated_at: key.rotatedMs === null ? null : timeText(key.rotatedMs),
    overlap_until: isOverlapping(key) ? timeText(key.overlapUntilMs as number) : null,
    revoked_at: key.revokedMs === null ? null : timeText(key.revokedMs),
  };
}

function table(keys: readonly KeyRow[]): string {
  if (keys.length === 0) return 'no keys yet: millrace keys create --store FILE --plan growth\n';
  const rows = [['id', 'plan', 'region', 'credits', 'created', 'state', 'label'], ...keys.map(cells)];
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function balance({ credits, creditsUsed }: KeyRow): string {
  return credits === null ? 'not counted' : `${credits - creditsUsed} of ${credits}`;
}

function cells(key: KeyRow): string[] {
  const { id, plan, region, createdMs, label } = key;
  return [id, plan, region, balance(key), timeText(createdMs).slice(0, 10), stateOf(key), label ?? ''];
}

function stateOf(key: KeyRow): string {
  if (key.revokedMs !== null) return 'revoked';
  return isOverlapping(key) ? `in force, former secret until ${timeText(key.overlapUntilMs as number)}` : 'in force';
}

/** Whether the key's former secret is still accepted. */
function isOverlapping({ overlapUntilMs, revokedMs }: KeyRow): boolean {
  return revokedMs === null && overlapUntilMs !== null && overlapUntilMs > Date.now();
}
