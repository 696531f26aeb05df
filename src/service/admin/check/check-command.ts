/** `millrace check`: reports damage in a store. */
import { InputError } from '../../../util/errors.ts';
import { storeFailure } from '../../store/failure.ts';
import { checkStore } from './check-store.ts';
import { isDamageFinding, type Finding } from './finding.ts';

/** Names printed per finding; `--json` has more. */
const SHOWN = 10;

/**
 * Prints the findings, and the command that repairs them.
 * @throws InputError when something is damaged, after the findings are printed; StorageError when the disk fails
 */
export async function checkCommand(path: string, json: boolean, signal: AbortSignal): Promise<void> {
  try {
    const { findings, isDamaged, needsBackup } = await checkStore(path, Date.now(), signal);
    const next = isDamaged ? `millrace check --store ${path} ${needsBackup ? '--restore BACKUP' : '--rebuild'}` : null;
    process.stdout.write(
      json ? `${JSON.stringify({ store: path, damaged: isDamaged, findings, next })}\n` : reportText(path, findings, next),
    );
    if (!isDamaged) return;
    const places = findings.filter(isDamageFinding).length;
    throw new InputError('store_damaged', `the store ${path} is damaged in ${places} ${places === 1 ? 'place' : 'places'}`, {
      hint: `Stop the service, then: ${next ?? ''}`,
    });
  } catch (error) {
    throw storeFailure(error, path);
  }
}

/** The findings as text. @param next the command that repairs the store */
function reportText(store: string, findings: readonly Finding[], next: string | null): string {
  const damage = findings.filter(isDamageFinding);
  const lines = damage.length === 0 ? [`${store}: no damage found`] : [`${store}: damaged`];
  for (const { detail, names, count, remedy } of findings) {
    const rest = (count ?? names.length) - Math.min(SHOWN, names.length);
    lines.push(
      `  ${detail}${names.length === 0 ? '' : `:\n    ${names.slice(0, SHOWN).join('\n    ')}`}` +
        (names.length > 0 && rest > 0 ? `\n    and ${rest} more` : ''),
    );
    if (remedy === 'rebuild') lines.push('    (this can be made again of what is there)');
  }
  if (next !== null) lines.push(`next: ${next}`);
  return `${lines.join('\n')}\n`;
}
