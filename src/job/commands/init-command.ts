/** `millrace init`: a commented job file from the columns of an input. */
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { bareName } from '../../definition/output-shape.ts';
import type { InputManifest } from '../../formats/input-record.ts';
import { freezeInput } from '../../reader/freeze.ts';
import { inputMapping, type InputMapping } from '../lifecycle/input-mapping.ts';
import { printable } from '../../util/display.ts';
import { EXIT, InputError, StorageError, type ExitCode } from '../../util/errors.ts';

/** Columns that the comment names. */
const MOST_COLUMNS = 40;

interface InitOptions {
  /** As the user named it. */
  readonly input: string;
  /** The job file to write; null: named after the input. */
  readonly file: string | null;
}

/** Writes the file, and says what to do next. @throws InputError when the file is there, or the input cannot be read */
export async function initCommand({ input, file }: InitOptions): Promise<ExitCode> {
  const manifest = await freezeInput({
    uris: [input],
    format: null,
    delimiter: null,
    skipLines: 0,
    header: true,
    encoding: null,
    columns: {},
    ifMissing: 'fail',
    isOwn: () => false,
    reservedColumns: [],
    needColumns: true,
    spoolPath: '',
  });
  const name = nameOf(input);
  const mapping = await inputMapping(manifest, { steps: [] });
  const path = file ?? `${name}.yaml`;
  try {
    await writeFile(path, jobFile(name, input, manifest, mapping), { flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new InputError('job_file_exists', `${path} is there already, and was left as it is`, { hint: 'Name another file: --to FILE.' });
    throw new StorageError('job_file_failed', `${path} could not be written: ${message}`, {
      hint: 'Name another file: --to FILE.',
      cause: error,
    });
  }
  process.stdout.write(`${path}\n`);
  process.stderr.write(`Look through it, then: millrace plan ${path}\nAnd when that is right: millrace run ${path}\n`);
  return EXIT.ok;
}

/** The name of a job after its input: `data/leads.csv.gz` is `leads`. */
function nameOf(input: string): string {
  const name = bareName(basename(input.replaceAll(/[*?[\]{}]/g, ''))).replaceAll(/[\p{C}/\\]/gu, '');
  return name === '' || name.startsWith('.') ? 'leads' : name.slice(0, 80);
}

/** The lines of `steps`, by the keys that the input has. */
function stepsFor({ email, domain, linkedin_url: profile }: InputManifest['keyName']): string {
  const comment = '# What is done to each record, in this order.';
  if (email === null && domain === null)
    return `${comment} enrich, verify and company need an address or a domain.\nsteps: [reveal]   # by linkedin_url`;
  return `${comment} Others: company${profile === null ? '' : ', reveal (by linkedin_url)'}.\nsteps: [enrich, verify]`;
}

function jobFile(
  name: string,
  input: string,
  { format, columns, keyName, files }: InputManifest,
  { columns: mapped, warnings }: InputMapping,
): string {
  const text = (value: string): string => JSON.stringify(value);
  const samplesOf = (key: string): string => mapped.find((one) => one.key === key)?.samples.join(', ') ?? '';
  const keys = Object.entries(keyName).flatMap(([key, column]) =>
    column === null ? [] : [`    ${key}: ${text(column)}${samplesOf(key) === '' ? '' : `   # ${samplesOf(key)}`}`],
  );
  const output = `${name}.enriched.${format}`;
  const shown = columns.slice(0, MOST_COLUMNS).map((column) => printable(column).slice(0, 60));
  const more = columns.length > shown.length ? ` and ${columns.length - shown.length} more` : '';
  return `# A job of Millrace. Every key is in docs/configuration.md.
# Columns of the input: ${shown.join(', ')}${more}
name: ${text(name)}

input:
  uri: ${text(input)}
  # The columns that hold the keys of a lookup.
  columns:
${keys.join('\n')}
${warnings.map((warning) => `  # ${warning}\n`).join('')}${files.some(({ delimiter }) => delimiter === ';') ? '  delimiter: ";"\n' : ''}
${stepsFor(keyName)}

service:
  # The sample service inside the run, to try things out without an account. For the real one, put these in its place:
  #   baseUrl: https://api.example.com
  #   plan: growth            # growth 1000, scale 5000 requests a minute, enterprise unlimited; or rpm: N
  # and the key in MILLRACE_API_KEY.
  embedded: true

output:
  uri: ${text(output)}

limits:
  # A pilot: the first 100 records. Raise it, or take it out, and the same command goes on with the rest.
  limit: 100
  # More failed records than this, and the finished run exits with 1.
  maxErrors: 5%
  # Credits at most, over all resumes.
  # maxCredits: 10000
`;
}
