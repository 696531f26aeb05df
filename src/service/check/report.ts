/** What a check has found, for people. Pure. */
import { isDamageFinding, type Finding } from './finding.ts';

/** Names that are printed of one finding; `--json` has more. */
const SHOWN = 10;

/** @param next the command that mends it */
export function reportText(store: string, findings: readonly Finding[], next: string | null): string {
  const damage = findings.filter(isDamageFinding);
  const lines = damage.length === 0 ? [`${store}: no damage found`] : [`${store}: damaged`];
  for (const { detail, names, count, remedy } of findings) {
    const rest = (count ?? names.length) - Math.min(SHOWN, names.length);
    lines.push(`  ${detail}${names.length === 0 ? '' : `:\n    ${names.slice(0, SHOWN).join('\n    ')}`}${names.length > 0 && rest > 0 ? `\n    and ${rest} more` : ''}`);
    if (remedy === 'rebuild') lines.push('    (this can be made again of what is there)');
  }
  if (next !== null) lines.push(`next: ${next}`);
  return `${lines.join('\n')}\n`;
}
