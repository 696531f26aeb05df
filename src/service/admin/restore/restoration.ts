/** The result of a restore, as JSON and as text. Pure. */
import { wordsOf } from '../check/tables.ts';
import type { RestoredBatches } from './restore-batches.ts';

/** The result in the shape of `--json`. */
export interface Restoration {
  readonly store: string;
  readonly restored: true;
  /** The paths of the damaged directory and books; null when there was none. */
  readonly old: string | null;
  readonly old_books: string | null;
  readonly backup: string | null;
  readonly tables: readonly {
    readonly table: string;
    readonly kept: number;
    readonly restored: number;
    readonly superseded: number;
    readonly lost: number;
    readonly lost_names: readonly string[];
  }[];
  /** API keys whose books are those of the backup. Credits spent since then are unknown. */
  readonly keys: readonly {
    readonly id: string;
    readonly label: string | null;
    readonly credits: number | null;
    readonly credits_used: number;
    readonly calls_used: number;
  }[];
  /** The number of restored people who were erased again. */
  readonly people_erased: number;
  /** False when the erasures since the backup are unknown. */
  readonly erasures_known: boolean;
  readonly batches: RestoredBatches;
}

/** Names printed per table; `--json` has more. */
const SHOWN = 10;

export function restorationText({
  store,
  old,
  old_books: oldBooks,
  backup,
  tables,
  keys,
  people_erased: erased,
  erasures_known: erasuresKnown,
  batches,
}: Restoration): string {
  const lines = [`${store}: made anew${backup === null ? '' : `, with ${backup}`}`];
  if (old !== null) lines.push(`  the damaged file is ${old}: remove it when you need it no more, it holds personal data`);
  if (oldBooks !== null) lines.push(`  the books as they were are ${oldBooks}: remove them then, too`);
  for (const { table, kept, restored, lost, lost_names: names, superseded } of tables) {
    if (restored + lost + superseded === 0) continue;
    lines.push(
      `  ${wordsOf(table)}: ${kept} kept, ${restored} from the backup` +
        `${superseded === 0 ? '' : `, ${superseded} of the backup left out for newer ones`}${lost === 0 ? '' : `, ${lost} lost`}`,
    );
    if (lost > 0) lines.push(`    lost: ${names.slice(0, SHOWN).join(', ')}${lost > SHOWN ? ' and others' : ''}`);
  }
  if (batches.files > 0) lines.push(`  files of batch jobs that were missing or damaged: ${batches.files} from the backup`);
  if (erased > 0) lines.push(`  erased again: ${erased} ${erased === 1 ? 'person' : 'people'} of the backup`);
  if (!erasuresKnown)
    lines.push(
      `  WARNING: there is no ${store}.erased, so nobody knows who was ` +
        `erased${backup === null ? '' : ' since the backup'}: run millrace suppress for them again`,
    );
  if (keys.length > 0) {
    const used = keys.reduce((sum, { credits_used: credits }) => sum + credits, 0);
    lines.push(
      `  WARNING: ${keys.length} ${keys.length === 1 ? 'key has its books' : 'keys have their books'} as the backup has them, ${used} ` +
        'credits used; what was spent since, and which were revoked, is not known:',
    );
    for (const { id, label, credits, credits_used: spent } of keys)
      lines.push(`    ${id}${label === null ? '' : ` (${label})`}: ${spent} used${credits === null ? '' : ` of ${credits}`}`);
  }
  for (const { id, fromLine, lines: again, credits } of batches.setBack)
    lines.push(
      `  batch job ${id} goes on from line ${fromLine}: ${again} lines are done again, and the ${credits} credits for them were given back`,
    );
  for (const id of batches.lost) lines.push(`  WARNING: files of the batch job ${id} are lost`);
  return `${lines.join('\n')}\n`;
}
