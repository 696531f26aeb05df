/** Generated leads, as untidy as real ones; the same seed gives the same leads. */

export interface Lead {
  readonly cells: readonly string[];
  /** The key of the record's first step. Null when the step asks for nothing. */
  readonly key: string | null;
}

export const LEAD_COLUMNS = ['Name', 'Work Email', 'Website', 'Note'] as const;

/** Numbers in [0, 1): mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * One row in ten is a duplicate that differs in case and spaces. There are misses, suppressed and refused people, domains alone, bad and
 * missing addresses.
 */
export function leads(rows: number, seed: number): Lead[] {
  const random = seeded(seed);
  const made: Lead[] = [];
  for (let i = 0; i < rows; i++) {
    const kind = Math.floor(random() * 20);
    const host = `works${Math.floor(random() * 50)}.example`;
    const note = ['plain', `has "quotes", and commas ${i}`, `two\nlines ${i}`, ''][Math.floor(random() * 4)] ?? '';
    const before = made.at(Math.floor(random() * made.length));
    if (kind < 2 && before?.key?.includes('@') === true) {
      made.push({ cells: [`Again ${i}`, ` ${before.key.toUpperCase()} `, '', note], key: before.key });
      continue;
    }
    const word = kind === 2 ? 'miss' : kind === 3 ? 'gone' : kind === 4 ? 'refused' : 'person';
    const email = kind === 5 ? '' : kind === 6 ? 'not an address' : `${word}${seed}-${i}@${host}`;
    const domain = kind === 5 && i % 2 === 0 ? `https://www.${host}/about` : '';
    made.push({ cells: [`Näme ${i}`, email, domain, note], key: email.includes('@') ? email : domain === '' ? null : host });
  }
  return made;
}

/** Adds the person's profile as a last cell, written in several ways. One row in five has no profile. */
export function withProfiles(rows: readonly Lead[]): Lead[] {
  return rows.map(({ cells, key }, i) => {
    const slug = (key ?? '').split('@')[0] ?? '';
    const written = [
      `https://www.linkedin.com/in/${slug}/`,
      `linkedin.com/in/${slug.toUpperCase()}`,
      ` http://uk.linkedin.com/in/${slug}?trk=${i}`,
      `//www.linkedin.com/in/${slug}#top`,
      '-',
    ];
    return { cells: [...cells, slug === '' ? '' : (written[i % written.length] ?? '')], key };
  });
}

export const PROFILE_COLUMNS = [...LEAD_COLUMNS, 'LinkedIn'] as const;

export function toCsv(rows: readonly Lead[], columns: readonly string[] = LEAD_COLUMNS, delimiter = ','): string {
  const line = (cells: readonly string[]): string => `${cells.map((cell) => quoted(cell, delimiter)).join(delimiter)}\n`;
  return [columns, ...rows.map(({ cells }) => cells)].map(line).join('');
}

export function toJsonl(rows: readonly Lead[]): string {
  return rows.map(({ cells: [name, email, website, note] }) => `${JSON.stringify({ name, email, website, note })}\n`).join('');
}

function quoted(cell: string, delimiter: string): string {
  return /["\n]/.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
