/** The published references of the job file, generated from the schema. Pure. */
import { z } from 'zod';
import { RUN_FLAGS, SHORT_FLAGS, variableOf } from './flags.ts';
import { KEYS } from './keys.ts';
import type { JobKey } from './keys.ts';
import { RUN_FLAG_NOTES } from './run-options.ts';
import { jobSchema } from './schema.ts';

/** JSON Schema, draft 2020-12, of a job file as its author writes it. No key is required, because flags may give the rest. */
export function jsonSchemaText(): string {
  const schema = z.toJSONSchema(jobSchema, { io: 'input', target: 'draft-2020-12' });
  return `${JSON.stringify({ ...schema, title: 'Millrace job' }, null, 2)}\n`;
}

const INTRODUCTION = `# Configuration

<!-- Made from the schema: node src/definition/write-schema.ts -->

A job is a YAML or JSON file (at most 1 MiB), given by path or by its name under \`jobs/\` of the working directory or of the package.
Every key has a flag and an environment variable. **A flag wins over a variable, and a variable over the file.** Without a file the
flags alone are the job, named after the output. \`job.schema.json\` beside this page lets an editor complete and check job files.

- Paths are relative to the working directory, also those in a job file, \`--scratch\` and \`MILLRACE_API_KEY_FILE\`. How a path is written
  makes no difference to a job: it goes on from any folder, by relative and absolute paths and through symbolic links. \`~/\` is the home
  folder (of the key file the shell must expand it). Paths are plain text, without a scheme: spaces and percent signs mean themselves.
- Where a short flag is listed, it replaces the dotted one. All others are the key's dotted path, matched to the letter:
  \`--input.columns.email "Work Email"\`. A value that begins with a dash is written \`--flag=-value\`.
- \`--input\` may be repeated; the variable takes one path a line. Lists of words are separated by commas: \`--steps enrich,verify\`.
- Mappings take one entry a flag: \`--output.fields.Job\\ Title enrich.title\`, \`--service.regions.us https://us.example.com\`
  (\`MILLRACE_SERVICE_REGIONS_US\`: the entry in lower case), or all of them as JSON: \`--output.fields '{"Job Title": "enrich.title"}'\`.
  Entries of several layers are merged.
- Switches: \`--embedded\` is true, \`--no-embedded\` and \`--embedded=false\` are false. \`null\` takes a value back: \`--limit null\`.
- An empty variable is one that is not set. Unknown \`MILLRACE_*\` variables are ignored; unknown keys and flags are errors.
- \`{date}\` (today in UTC, or \`--date\`), \`{date:-1d}\`, \`{date:+2d}\`, \`{date:Europe/Berlin}\` (today in that time zone),
  \`{date:-1d:Europe/Berlin}\` and \`{env:NAME}\` expand in the URIs of input, output, checkpoint, ledger and \`service.quota\`. Braces
  with a comma or \`..\` are a glob's. A variable that is missing or empty is an error.
- Exactly one of \`service.baseUrl\`, \`service.region\` and \`service.embedded\` chooses the service; there is no default. A layer that
  chooses replaces the choice of the layers below it. The same holds for \`service.plan\` and \`service.rpm\`.
- The API key comes from \`MILLRACE_API_KEY\`, or from a file that \`MILLRACE_API_KEY_FILE\` names; never from a flag or a job file.
  With both set the first is used, and a line on standard error says so.
  A key that the service refuses (401, 403, 421) is read again from its file, once for all calls that were refused:
  [a key that is rotated](running.md#a-key-that-is-rotated).

A job that was started may be resumed with another plan, rpm, quota, concurrency, timeout, limits, alerts or messages, with another
\`input.ifMissing\`, other \`service.windows\`, and with a higher \`limit\`. Until the service has answered, its address may be
corrected too. Any other change is refused (78), naming the key; \`--fresh\` starts over and keeps the ledger.
`;

/** docs/configuration.md: every key with flag, variable, default and meaning, then the flags of a run. */
export function configurationPage(): string {
  const keyRows = KEYS.map((key) =>
    row([code(key.path), code(flagOf(key)), code(key.variable), defaultOf(key), cell(`${key.description} Takes ${key.expected}.`)]),
  );
  const runRows = RUN_FLAGS.map((flag) => {
    const notes = RUN_FLAG_NOTES[flag];
    return row([
      code(`--${flag}`),
      code(variableOf(flag)),
      cell(notes?.default ?? ''),
      cell(`${notes?.description} Takes ${notes?.expected}.`),
    ]);
  });
  return [
    INTRODUCTION,
    '## Keys of a job\n',
    row(['key', 'flag', 'variable', 'default', 'meaning']),
    row(['---', '---', '---', '---', '---']),
    ...keyRows,
    '\n## Flags of a run\n\nThey belong to one execution, so a job file cannot set them. ' +
      '`plan` and `status` accept all of them and `--json`:\n' +
      'write either word in front of the flags of a run. `plan` acts on `--date`, `--fresh` and `--shard`; `status` acts on `--date`.\n',
    row(['flag', 'variable', 'default', 'meaning']),
    row(['---', '---', '---', '---']),
    ...runRows,
    '',
  ].join('\n');
}

const flagOf = (key: JobKey): string => `--${key.flag}${key.kind === 'map' && SHORT_FLAGS[key.path] === undefined ? '.NAME' : ''}`;
const code = (text: string): string => `\`${text}\``;
const cell = (text: string): string => text.replaceAll('|', String.raw`\|`);
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

function defaultOf(key: JobKey): string {
  if (key.default === undefined) return '-';
  return code(typeof key.default === 'string' ? key.default : JSON.stringify(key.default));
}
