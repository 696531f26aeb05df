/** The command line for the report: as it was typed, as far as it may be shown. Pure. */
import type { Invocation } from './invocation.ts';

/** Longer command lines are cut, because the checkpoint is written every second. */
const LONGEST = 500;
/** Words that a shell takes as they are. */
const PLAIN = /^[\w@%+=:,./{}-]+$/;
const URL_TEXT = /^([a-z][a-z0-9+.-]*):\/\/(?:[^/?#]*@)?([^/?#]*)(.*)$/is;

/**
 * `millrace run nightly --limit 100`. Flags hold no secret but the address of a webhook or a server, so a URL is shown without its path,
 * its query and its credentials. They hold no personal data but the values of `input.where`, which are left out.
 */
export function commandLine(command: string, { job, flags }: Pick<Invocation, 'job' | 'flags'>): string {
  const words = [...flags].flatMap(([name, value]): string[] => {
    if (value === true) return [`--${name}`];
    if (value === false) return [`--no-${name}`];
    return [value].flat().flatMap((one) => [`--${name}`, name.startsWith('input.where') ? '…' : shown(one)]);
  });
  const line = ['millrace', command, ...(job === null ? [] : [shown(job)]), ...words].join(' ');
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

function shown(word: string): string {
  const [, scheme = '', host = '', rest = ''] = URL_TEXT.exec(word) ?? [];
  if (scheme !== '' && scheme !== 's3') return `${scheme}://${host}${rest === '' || rest === '/' ? rest : '/…'}`;
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
