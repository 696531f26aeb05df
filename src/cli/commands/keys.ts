/** `millrace keys create | list | update | rotate | revoke` */
import { UsageError } from '../../util/errors.ts';
import type { ExitCode } from '../../util/errors.ts';
import { parseAge } from '../../job/commands/age.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import type { KeysAction } from '../../service/admin/keys-command.ts';
import { checkFlags, storeOf, textOf, wholeOf, wordOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';

const PLANS = ['trial', 'growth', 'scale', 'enterprise'] as const;
const REGIONS = ['us', 'eu', 'apac'] as const;
const ACTIONS = ['create', 'list', 'revoke', 'rotate', 'update'] as const;
const MAX_CREDITS = 1e12;

/** Makes, shows and revokes keys; a running service applies the change within a second. */
export async function keys(invocation: Invocation): Promise<ExitCode> {
  const kind = ACTIONS.find((name) => name === invocation.action);
  if (kind === undefined) throw unknownAction(invocation.action);
  checkFlags(`keys ${kind}`, invocation);
  const store = storeOf(`keys ${kind}`, invocation);
  const action = readAction(kind, invocation);
  return (await import('../../service/admin/keys-command.ts')).keysCommand(store, action);
}

function readAction(kind: (typeof ACTIONS)[number], invocation: Invocation): KeysAction {
  const { job: id, flags } = invocation;
  switch (kind) {
    case 'create': {
      if (id !== null)
        throw new UsageError('extra_argument', `millrace keys create takes no name: ${JSON.stringify(id.slice(0, 80))}`, {
          hint: 'Say --label NAME.',
        });
      const plan = wordOf(invocation, 'plan', PLANS);
      if (plan === null) throw new UsageError('no_plan', `millrace keys create needs to know the plan: --plan ${PLANS.join(', ')}`);
      return {
        kind,
        plan,
        region: wordOf(invocation, 'region', REGIONS) ?? 'us',
        credits: wholeOf(invocation, 'credits', MAX_CREDITS),
        label: textOf(invocation, 'label'),
      };
    }
    case 'list':
      return { kind, json: flags.get('json') === true || !process.stdout.isTTY };
    case 'revoke':
      return { kind, id: idOf(kind, id) };
    case 'rotate': {
      const overlap = textOf(invocation, 'overlap');
      return { kind, id: idOf(kind, id), overlapMs: overlap === null ? 0 : parseAge('overlap', overlap) };
    }
    case 'update': {
      const [plan, addCredits, label] = [
        wordOf(invocation, 'plan', PLANS),
        wholeOf(invocation, 'add-credits', MAX_CREDITS),
        textOf(invocation, 'label'),
      ];
      const change = { ...(plan !== null && { plan }), ...(addCredits !== null && { addCredits }), ...(label !== null && { label }) };
      if (Object.keys(change).length === 0)
        throw new UsageError(
          'nothing_to_change',
          'millrace keys update needs to know what is to become another: --plan, --add-credits or --label',
        );
      return { kind, id: idOf(kind, id), ...change };
    }
    default:
      return kind satisfies never;
  }
}

function idOf(kind: string, id: string | null): string {
  if (id !== null) return id;
  throw new UsageError('no_key', `millrace keys ${kind} needs the id of a key`, { hint: '`millrace keys list --store FILE` shows them.' });
}

function unknownAction(word: string | null): UsageError {
  const hint = `Such as: millrace keys create --store service.sqlite --plan growth`;
  if (word === null) return new UsageError('unknown_command', `millrace keys needs to know what to do: ${ACTIONS.join(', ')}`, { hint });
  return new UsageError('unknown_command', `There is no command "keys ${word.slice(0, 80)}"${didYouMean(nearest(word, ACTIONS))}`, {
    hint,
  });
}
