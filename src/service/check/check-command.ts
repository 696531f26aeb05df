/** `millrace check`: what is damaged in a store. */
import { InputError } from '../../errors.ts';
import { storeFailure } from '../store/failure.ts';
import { checkStore } from './check-store.ts';
import { isDamageFinding } from './finding.ts';
import { reportText } from './report.ts';

/** Prints what is found, and the next command. @throws InputError when something is damaged, after it has been printed; StorageError when the disk fails */
export async function checkCommand(path: string, json: boolean, signal: AbortSignal): Promise<void> {
  try {
    const { findings, isDamaged, needsBackup } = await checkStore(path, Date.now(), signal);
    const next = isDamaged ? `millrace check --store ${path} ${needsBackup ? '--restore BACKUP' : '--rebuild'}` : null;
    process.stdout.write(json ? `${JSON.stringify({ store: path, damaged: isDamaged, findings, next })}\n` : reportText(path, findings, next));
    if (!isDamaged) return;
    const places = findings.filter(isDamageFinding).length;
    throw new InputError('store_damaged', `the store ${path} is damaged in ${places} ${places === 1 ? 'place' : 'places'}`, { hint: `Stop the service, then: ${next ?? ''}` });
  } catch (error) {
    throw storeFailure(error, path);
  }
}
