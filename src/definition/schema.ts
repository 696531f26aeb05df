/**
 * The one schema of a job file: every key of the contract with its words, unit, bounds and default. Flags, variables,
 * `docs/job.schema.json` and `docs/configuration.md` are derived from it.
 */
import { z } from 'zod';
import { encodingName } from '../formats/encodings/encoding.ts';
import { conditionsSchema } from './conditions.ts';
import { BOUNDS, key, uri, WAIT, waitMs } from './schema-key.ts';
import { notificationSchema } from './notification.ts';
import { providers } from './provider-schema.ts';
import { service } from './service-schema.ts';
import { BY_RANK, SPECS, STEPS } from '../steps/registry.ts';
import { numberPlan } from '../verification/calling-codes.ts';
import { wordList } from '../util/display.ts';
import { STEP_SECTIONS } from './step-options.ts';
import { stepList } from './step-schema.ts';

const column = z.string().min(1).max(BOUNDS.column);
const count = z.int().min(1).max(Number.MAX_SAFE_INTEGER).nullable().default(null);
const COUNT = 'a whole number from 1, or null';
const share = z.string().regex(/^(?:100(?:\.0+)?|\d{1,2}(?:\.\d{1,6})?)%$/);
const SHARE = 'a share such as 40%, or null';
/** It may be more than all. */
const percentage = z.string().regex(/^\d{1,5}(?:\.\d{1,6})?%$/);
const delimiter = z
  .string()
  .regex(/^(?:tab|\\t|[\t !#-/:-@[-`{-~])$/)
  .nullable();
/** The output is written as the input is. */
const AS_INPUT = 'input';
const columnName = "a column's name as text";

const input = z.strictObject({
  uri: key(
    z.union([uri, z.array(uri).min(1).max(BOUNDS.uris)]).optional(),
    { expected: 'a path, a glob, a directory, s3://bucket/key, prefix or glob, or - (standard input), or a list of them', split: '\n' },
    'What to read: a path, a glob, a directory, an object, prefix or glob in S3, or - for ' +
      'standard input; or a list of them. Relative paths start at the working directory.',
  ),
  format: key(
    z.enum(['csv', 'tsv', 'jsonl', 'parquet']).nullable().default(null),
    'csv, tsv, jsonl or parquet',
    'Format of the input. null: by extension, and Parquet by its first bytes.',
  ),
  delimiter: key(
    delimiter.default(null),
    'one character such as , ; | or the word tab',
    'What stands between two fields: one ASCII character that is no letter, ' +
      'digit or double quote, or the word tab. null: found in the header.',
  ),
  skipLines: key(
    z.int().min(0).max(BOUNDS.skipLines).default(0),
    `a whole number from 0 to ${BOUNDS.skipLines}`,
    'Lines above the header that are not read, such as a title (csv and tsv).',
  ),
  header: key(
    z.boolean().default(true),
    'true or false',
    'false when the first line is a record (csv and tsv). The columns are then column_1, column_2 and so on, and keys are found by ' +
      'their values.',
  ),
  encoding: key(
    z
      .string()
      .refine((label) => encodingName(label) !== null)
      .nullable()
      .default(null),
    'a name of the WHATWG Encoding Standard such as utf-8, utf-16, windows-1252, shift_jis, gb18030, euc-kr or koi8-r',
    'Encoding of the input, by any of its names in the WHATWG Encoding ' +
      'Standard. null: by its byte order mark, else utf-8. The output is UTF-8.',
  ),
  columns: z
    .strictObject({
      email: key(column.optional(), columnName, 'The column that holds the e-mail address. Default: found by its aliases.'),
      domain: key(column.optional(), columnName, "The column that holds the company's domain or website. Default: found by its aliases."),
      linkedin_url: key(column.optional(), columnName, "The column that holds the profile's URL. Default: found by its aliases."),
      name: key(column.optional(), columnName, "The column that holds the person's full name, where a key is name. Default: its aliases."),
      first_name: key(column.optional(), columnName, 'The column that holds the first name, for records without a full name.'),
      last_name: key(column.optional(), columnName, 'The column that holds the last name, for records without a full name.'),
      company: key(column.optional(), columnName, "The column that holds the company's name, for reveal by name. Default: its aliases."),
      phone: key(column.optional(), columnName, 'The column that holds the phone number, where a key is phone. Default: its aliases.'),
      country: key(column.optional(), columnName, "The column that holds the phone number's country, in any form. Default: its aliases."),
    })
    .prefault({})
    .describe('Which column holds which key, where the aliases do not find it.'),
  country: key(
    z
      .string()
      .refine((code) => /^[a-z]{2}$/i.test(code) && numberPlan(code.toUpperCase()) !== null)
      .nullable()
      .default(null),
    'the two letters of a country (ISO 3166-1), or null',
    'Country of phone numbers that are written without one, in records without a country of their own. null: such numbers are no key.',
  ),
  ifMissing: key(
    z.enum(['fail', 'succeed']).default('fail'),
    'fail or succeed',
    'What to do when no file is there: fail (exit 65), or succeed, as there is nothing to do.',
  ),
  where: key(
    conditionsSchema,
    {
      expected:
        'a mapping of columns to a value, a list of values, {not: value or list}, a condition as a text, or null; the word empty stands ' +
        'for a cell without text',
      hasJsonEntries: true,
    },
    'Look up only the records for which all of these hold, such as {opted_out: {not: [yes, "true"]}, email: empty}. ' +
      'The others stay in the output with the outcome skipped, and cost nothing. ' +
      'A name is a column, or the key email, domain or linkedin_url. Upper and lower case do not count.',
  ),
});

const output = z.strictObject({
  uri: key(
    uri.optional(),
    'a path, s3://bucket/key, or - (standard output)',
    'Where the result goes: a path, an object in S3, or - for standard output (no checkpoint, no resume). Format and compression by ' +
      'extension: .csv .tsv .jsonl .ndjson, then .gz or .zst; or .parquet.',
  ),
  format: key(
    z.enum(['csv', 'tsv', 'jsonl', 'parquet']).nullable().default(null),
    'csv, tsv, jsonl or parquet',
    'Format of the output. null: by extension; csv on standard output.',
  ),
  fields: key(
    z
      .record(column, z.string().min(1).max(BOUNDS.column))
      .refine((fields) => Object.keys(fields).length > 0 && Object.keys(fields).length <= BOUNDS.fields)
      .nullable()
      .default(null),
    `a mapping of 1 to ${BOUNDS.fields} column names to paths such as enrich.title, or null`,
    `Column name to path (result.*, ${STEPS.map((step) => `${step}.*`).join(', ')} or input.<column>): these columns instead of the ` +
      'standard ones.',
  ),
  delimiter: key(
    delimiter.or(z.literal(AS_INPUT)).default(AS_INPUT),
    'input, one character such as , ; | or the word tab',
    'Put between two fields (csv and tsv). Excel in much of Europe expects ; here. input: in csv that of a csv input, else a comma; in ' +
      'tsv a tab.',
  ),
  bom: key(
    z.boolean().or(z.literal(AS_INPUT)).default(AS_INPUT),
    'input, true or false',
    'Begin with a byte order mark, by which Excel knows that the file is UTF-8 (csv and tsv). input: where a csv or tsv input has one.',
  ),
  lineEnds: key(z.enum(['lf', 'crlf']).default('lf'), 'lf or crlf', 'How rows end (csv and tsv): crlf as on Windows.'),
  split: key(
    z.enum(['verdict']).nullable().default(null),
    'verdict, or null',
    'verdict: beside the whole, one file for each of deliverable, undeliverable, risky and unknown, such as leads.risky.csv.',
  ),
  marker: key(
    uri.nullable().default(null),
    'a path, s3://bucket/key, or null',
    'A file that is written last, once a run has finished with exit code 0, for jobs that wait for this one. A new run removes it.',
  ),
  escapeFormulas: key(
    z.boolean().default(false),
    'true or false',
    'Put an apostrophe before values that a spreadsheet would run as a formula (csv and tsv). They begin with = + - @, a tab or ' +
      'a line end, also behind other apostrophes. Taking one off gives the value back.',
  ),
});

const limits = z.strictObject({
  maxCalls: key(count, COUNT, 'Calls at most over the whole job, resumes included; then exit 77.'),
  maxCredits: key(
    count,
    COUNT,
    'Credits at most over the whole job, resumes included; a call that may cost more than is left is not sent, and the run exits with 77.',
  ),
  maxErrors: key(
    z.union([z.int().min(0).max(Number.MAX_SAFE_INTEGER), share]).default('5%'),
    'a whole number from 0, or a share such as 5%',
    'More failed records than this, as a number or a share of all records that were not skipped, and the finished run exits with 1. ' +
      'Never stops a run.',
  ),
  limit: key(count, COUNT, 'Records at most, from the beginning of the input: a pilot. A higher limit resumes.'),
  maxWaitMs: key(waitMs.default(900_000), WAIT, 'Longest pause that the service may ask for, in milliseconds; beyond it, exit 69.'),
  maxOutageMs: key(waitMs.default(600_000), WAIT, 'How long the service may be unavailable, in milliseconds; then exit 69.'),
  trustMisses: key(
    z.boolean().default(false),
    'true or false',
    'Believe a service whose first 100 answers are all of one kind of 4xx, such as misses.',
  ),
});

const deciding = BY_RANK.filter(({ follows }) => follows === undefined);
const following = SPECS.filter(({ follows }) => follows !== undefined);
const named = (specs: readonly { readonly name: string }[]): string => wordList(specs.map(({ name }) => name));

const steps = key(
  stepList.default(SPECS.filter(({ isUsual }) => isUsual).map(({ name }) => name)),
  { expected: `a list out of ${named(SPECS)}, or custom steps that definitions of providers declare`, split: ',' },
  `What is done to each record, in this order. The outcome is decided by the first of ${named(deciding)}; ` +
    `${named(following)} decides alone. ` +
    'With providers, a step may say whom it asks: {enrich: {from: [millrace, pdl], until: [email, title], fields: merge}}.',
);

export const jobSchema = z
  .strictObject({
    name: key(
      z
        .string()
        .regex(/^[^\p{C}/\\]{1,100}$/u)
        .optional(),
      `text of 1 to ${BOUNDS.name} printable characters without slashes`,
      "Name of the job. Default: the job file's base name; without a file, the output's.",
    ),
    input: input.prefault({}).describe('What is read.'),
    steps,
    service: service.prefault({}).describe('Whom to ask, and how fast.'),
    providers,
    ...STEP_SECTIONS,
    output: output.prefault({}).describe('What is written.'),
    checkpoint: z
      .strictObject({
        uri: key(
          uri.nullable().default(null),
          'a path, s3://bucket/key, or null',
          "Where progress is kept, and the job's lock. null: the output's path + .checkpoint.json.",
        ),
        everyMs: key(
          z.int().min(BOUNDS.everyMs[0]).max(BOUNDS.everyMs[1]).nullable().default(null),
          `milliseconds, a whole number from ${BOUNDS.everyMs[0]} to ${BOUNDS.everyMs[1]}, or null`,
          'Time between two durable checkpoints, in milliseconds: what a crash may ' +
            'repeat. null: 1000; 10000 where the output or the checkpoint is in S3.',
        ),
      })
      .prefault({})
      .describe('Progress, for resuming.'),
    ledger: z
      .strictObject({
        uri: key(
          uri.nullable().default(null),
          'a path, s3://bucket/name, redis://host:port/database (rediss:// for TLS), or null',
          "Where paid answers are kept. null: the output's uri + .ledger. In Redis, runs that go on at the same time share them.",
        ),
        maxAgeDays: key(
          z.int().min(0).max(BOUNDS.ageDays).default(0),
          `days, a whole number from 0 to ${BOUNDS.ageDays}`,
          'How long later jobs may use an answer, in days. 0: this job only. More needs a uri.',
        ),
      })
      .prefault({})
      .describe('Answers already paid for.'),
    suppress: key(
      uri.nullable().default(null),
      'a path, s3://bucket/key, or null',
      'A list of people who are never asked about, one on each line: addresses, or SHA-256 digests of addresses in lower case. ' +
        'Their rows are suppressed, also where an answer has such an address.',
    ),
    onFinish: notificationSchema('when a run has finished'),
    onTrouble: notificationSchema('when a run ends with another exit code than 0'),
    alerts: z
      .strictObject({
        matchRateBelow: key(
          share.nullable().default(null),
          SHARE,
          'A finished run exits with 1 when fewer than this share of its answered records are matched, people and companies together.',
        ),
        peopleMatchRateBelow: key(share.nullable().default(null), SHARE, 'The same of people alone.'),
        companyMatchRateBelow: key(
          share.nullable().default(null),
          SHARE,
          'The same of companies alone: records that were looked up by their domain.',
        ),
        deliverableBelow: key(
          share.nullable().default(null),
          SHARE,
          'A finished run exits with 1 when fewer than this share of its verdicts are deliverable.',
        ),
        rowsBelow: key(
          percentage.nullable().default(null),
          SHARE,
          "A finished run exits with 1 when its input has fewer than this share of the last run's rows.",
        ),
        rowsAbove: key(percentage.nullable().default(null), 'a share such as 200%, or null', 'The same when it has more.'),
        sameInput: key(
          z.boolean().default(false),
          'true or false',
          'A finished run exits with 1 when its input is that of the last run. For a dated output.',
        ),
      })
      .prefault({})
      .describe('When a finished run is a failure although few records failed.'),
    limits: limits.prefault({}).describe('When to stop, and when to call a finished run a failure.'),
  })
  .describe('A Millrace job. Every key may be left out and given by a flag or a variable instead.');

/** A job file's content with defaults, before relations are checked. */
export type RawJob = z.output<typeof jobSchema>;

/** The content of a job file as a program writes it: `docs/configuration.md` has the keys. */
export type JobDefinition = z.input<typeof jobSchema>;
