/** Describes which column of the input holds which key, for people: with masked values, and with what is left unused. */
import { findTable, type ColumnSamples } from '../../reader/column-samples.ts';
import { unusedAddresses } from '../../reader/choose-columns.ts';
import { unshownFields, unshownFinds } from '../../writer/result-columns.ts';
import { keysOr } from '../../formats/header-aliases.ts';
import type { InputManifest, KeyNames } from '../../formats/input-record.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { count, printable } from '../../util/display.ts';
import { masked } from '../../util/masked.ts';

/** The column of one key. */
export interface MappedColumn {
  readonly key: string;
  readonly column: string;
  /** At most three values, masked. */
  readonly samples: readonly string[];
}

/** Fields that a warning names. */
const MOST_NAMED = 6;

export interface InputMapping {
  readonly columns: readonly MappedColumn[];
  /** Sentences without their full stops. */
  readonly warnings: readonly string[];
}

/** Reads the first records of the first file that has any. @throws as reading does */
export async function inputMapping(
  manifest: InputManifest,
  { steps }: Pick<CompiledJob, 'steps'>,
  signal?: AbortSignal,
): Promise<InputMapping> {
  const found = await findTable(manifest, signal);
  if (found === null) return { columns: mappedColumns(manifest.keyName, new Map()), warnings: [] };
  const keys = keysOr(found.file.keys, manifest.keyName);
  const unused = unusedAddresses(found.columns, found.samples, keys).map(
    (column) => `column ${quoted(column)} looks like addresses and is not used: --input.columns.email ${quoted(column)} takes it`,
  );
  const idle = steps.includes('verify') && keys.email === null && manifest.files.every((file) => file.keys.email === null);
  return {
    columns: mappedColumns(keys, found.samples),
    warnings: [...unused, ...(idle ? ['no column of addresses was found: verify asks only about addresses that enrich finds'] : [])],
  };
}

/**
 * The mapping of a job's input, warning also of fields that are bought and that no column of its output shows.
 * @param isShort fields that are found and not shown are only counted
 */
export async function jobMapping(
  manifest: InputManifest,
  job: CompiledJob,
  { signal, isShort = false }: { readonly signal: AbortSignal; readonly isShort?: boolean },
): Promise<InputMapping> {
  const { columns, warnings } = await inputMapping(manifest, job, signal);
  const unshown = unshownFields(job).map(
    (field) => `${field} is asked for by until and is in no column: name one in output.fields, such as {Found: ${field}}`,
  );
  return { columns, warnings: [...warnings, ...unshown, ...findsText(unshownFinds(job), isShort)] };
}

/** A sentence about fields that are found and not shown; none without such a field. */
function findsText(fields: readonly string[], isShort: boolean): string[] {
  if (fields.length === 0) return [];
  if (isShort && fields.length > 1)
    return [`the providers find ${count(fields.length)} fields that are in no column: millrace plan names them`];
  const more = fields.length - MOST_NAMED;
  const named = `${fields.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return [`the providers find fields that are in no column: ${named}; name them in output.fields, or write .jsonl, which has all`];
}

/** `email from "Work Email", such as a***@acme.example, b***@mill.example` */
export function mappingText({ key, column, samples }: MappedColumn): string {
  return `${key} from ${quoted(column)}${samples.length === 0 ? '' : `, such as ${samples.join(', ')}`}`;
}

function mappedColumns(keys: KeyNames, samples: ColumnSamples): MappedColumn[] {
  return Object.entries(keys).flatMap(([key, column]) =>
    column === null ? [] : [{ key, column, samples: (samples.get(column)?.examples ?? []).map((value) => printable(masked(value))) }],
  );
}

function quoted(name: string): string {
  return JSON.stringify(printable(name).slice(0, 80));
}
