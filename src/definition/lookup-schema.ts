/** The sections `enrich` and `reveal` of a job file: by which keys a person is looked up. */
import { z } from 'zod';
import { PERSON_COLUMNS } from '../formats/header-aliases.ts';
import type { PersonColumn } from '../formats/input-record.ts';
import { key } from './schema-key.ts';
import { ENRICH_KEYS, REVEAL_KEYS, USUAL_KEYS, type LookupKeyNames } from './steps.ts';
import type { Step } from '../steps/registry.ts';

const MAX_REQUIRED = 50;
const isDistinct = (names: readonly string[]): boolean => new Set(names).size === names.length;

export const enrich = z
  .strictObject({
    by: key(
      z
        .array(z.enum(ENRICH_KEYS))
        .min(1)
        .refine(isDistinct)
        .default([...USUAL_KEYS.enrich]),
      { expected: `a list out of ${ENRICH_KEYS.join(', ')}, each once`, split: ',' },
      'The keys by which enrich looks a record up: the first of these that the record has. name goes together with the domain; a domain ' +
        'alone finds the company.',
    ),
    minLikelihood: key(
      z.int().min(0).max(100).default(0),
      'a whole number from 0 to 100',
      'A match that the service finds less likely than this is a miss.',
    ),
    required: key(
      z
        .array(z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/))
        .max(MAX_REQUIRED)
        .refine(isDistinct)
        .default([]),
      { expected: `a list of at most ${MAX_REQUIRED} fields of a record, each once`, split: ',' },
      'A record that lacks one of these fields, such as title, is a miss.',
    ),
  })
  .prefault({})
  .describe('The enrich step.');

export const reveal = z
  .strictObject({
    by: key(
      z
        .array(z.enum(REVEAL_KEYS))
        .min(1)
        .refine(isDistinct)
        .default([...USUAL_KEYS.reveal]),
      { expected: `a list out of ${REVEAL_KEYS.join(', ')}, each once`, split: ',' },
      'The keys by which reveal looks a record up: the first of these that the record has. name goes together with the domain, or else ' +
        'the name of the company.',
    ),
  })
  .prefault({})
  .describe('The reveal step.');

/** The columns of a person that a job reads. */
export function personColumnsOf(steps: readonly Step[], by: LookupKeyNames): readonly PersonColumn[] {
  const used = (['enrich', 'reveal'] as const).flatMap((step) => (steps.includes(step) ? by[step] : []));
  return [
    ...(used.includes('name') ? (['name', 'first_name', 'last_name', 'company'] as const) : []),
    ...(used.includes('phone') ? (['phone'] as const) : []),
  ];
}

/** Warns of columns that are named for a key that no step uses. */
export function warnOfIdleKeys(
  steps: readonly Step[],
  by: LookupKeyNames,
  columns: Readonly<Partial<Record<PersonColumn, string | undefined>>>,
  warnings: string[],
): void {
  const used = personColumnsOf(steps, by);
  for (const column of PERSON_COLUMNS)
    if (columns[column] !== undefined && !used.includes(column))
      warnings.push(`input.columns.${column} is not used: neither enrich.by nor reveal.by has ${column === 'phone' ? 'phone' : 'name'}`);
}
