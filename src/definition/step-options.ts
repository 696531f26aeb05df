/** The sections of the steps in a job file: by which keys a step looks a record up, and more. */
import { z } from 'zod';
import { PERSON_COLUMNS } from '../formats/header-aliases.ts';
import type { PersonColumn } from '../formats/input-record.ts';
import { FOUND_NAME, namesOf } from '../steps/keys.ts';
import { BY_RANK, SPECS, type Declared, type Step } from '../steps/registry.ts';
import type { StepOption, StepSpec } from '../steps/step-spec.ts';
import { key, WAIT, waitMs } from './schema-key.ts';

const MAX_REQUIRED = 50;
const isDistinct = (names: readonly string[]): boolean => new Set(names).size === names.length;

/** The schema of each option. */
const SCHEMAS = {
  by: ({ name, keys, usual, aboutKeys = '' }: StepSpec) => {
    const names = namesOf(keys);
    return key(
      z
        .array(z.union([z.enum(names), z.string().regex(FOUND_NAME)]))
        .min(1)
        .refine(isDistinct)
        .default([...usual]),
      { expected: `a list out of ${names.join(', ')}, or what an earlier step found, each once`, split: ',' },
      `The keys by which ${name} looks a record up: the first of these that there is. ${aboutKeys}`,
    );
  },
  minLikelihood: () =>
    key(
      z.int().min(0).max(100).default(0),
      'a whole number from 0 to 100',
      'A match that the service finds less likely than this is a miss.',
    ),
  required: () =>
    key(
      z
        .array(z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/))
        .max(MAX_REQUIRED)
        .refine(isDistinct)
        .default([]),
      { expected: `a list of at most ${MAX_REQUIRED} fields of a record, each once`, split: ',' },
      'A record that lacks one of these fields, such as title, is a miss.',
    ),
  when: () =>
    key(
      z.enum(['always', 'unverified']).default('always'),
      'always or unverified',
      'unverified: only addresses that enrich did not call verified.',
    ),
  patienceMs: () =>
    key(
      waitMs.default(0),
      WAIT,
      'How long verdicts that are not final (pending, greylisted) are waited for and asked for again, in milliseconds. 0: not at all.',
    ),
} as const;

type Schemas = { readonly [O in StepOption]: ReturnType<(typeof SCHEMAS)[O]> };
type OptionsOf<S extends Declared> = S['options'][number];
type Sections = {
  readonly [S in Declared as [OptionsOf<S>] extends [never] ? never : S['name']]: z.ZodPrefault<
    z.ZodObject<Pick<Schemas, OptionsOf<S>>, z.core.$strict>
  >;
};

/** One section for each step that has options. */
export const STEP_SECTIONS = Object.fromEntries(
  BY_RANK.filter(({ options }) => options.length > 0).map((spec) => [
    spec.name,
    z
      .strictObject(Object.fromEntries(spec.options.map((option) => [option, SCHEMAS[option](spec)])))
      .prefault({})
      .describe(`The ${spec.name} step.`),
  ]),
) as unknown as Sections;

/** The options of a step, with defaults where it has no such option. */
export interface StepOptions {
  /** The keys by which it looks a record up, in order of preference. */
  readonly by: readonly string[];
  /** From 0 to 100. */
  readonly minLikelihood: number;
  /** Fields of a record, sorted. */
  readonly required: readonly string[];
  readonly when: 'always' | 'unverified';
  readonly patienceMs: number;
}

type ByStep = Readonly<Record<Step, StepOptions>>;

/** The columns of a person that a job reads. */
export function personColumnsOf(steps: readonly Step[], options: ByStep): readonly PersonColumn[] {
  const used = steps.flatMap((step) => options[step]?.by ?? []);
  return [
    ...(used.includes('name') ? (['name', 'first_name', 'last_name', 'company'] as const) : []),
    ...(used.includes('phone') ? (['phone', 'country'] as const) : []),
  ];
}

/** Warns of columns that are named for a key that no step uses. */
export function warnOfIdleKeys(
  steps: readonly Step[],
  options: ByStep,
  columns: Readonly<Partial<Record<PersonColumn, string | undefined>>>,
  warnings: string[],
): void {
  const used = personColumnsOf(steps, options);
  const keys = SPECS.flatMap((spec) => (spec.options.includes('by') ? [`${spec.name}.by`] : [])).join(' nor ');
  for (const column of PERSON_COLUMNS)
    if (columns[column] !== undefined && !used.includes(column))
      warnings.push(
        `input.columns.${column} is not used: neither ${keys} has ${column === 'phone' || column === 'country' ? 'phone' : 'name'}`,
      );
}
