/** Compiles the output of a job, and checks its keys against each other. */
import type { CompileContext } from './compile-context.ts';
import { missing } from './compile-context.ts';
import type { CompiledJob } from './compiled-job.ts';
import { onEarlierDays } from './expand.ts';
import { originName, refusal, show } from './origin.ts';
import { checkField, outputShape } from './output-shape.ts';
import type { RawJob } from './schema.ts';
import { readSteps } from './step-schema.ts';

/** @throws UsageError, ConfigError for a missing output, and for keys that do not fit its format */
export function compileOutput(raw: RawJob, context: CompileContext): CompiledJob['output'] {
  const origin = context.originOf('output.uri');
  if (raw.output.uri === undefined || origin === null) throw missing('no_output', 'output.uri', '--output FILE', context);
  const uri = context.expand(raw.output.uri, 'output.uri');
  const { format, compression } = outputShape(uri, raw.output.format, origin);
  const input = context.originOf('output.fields.input');
  if (format === 'jsonl' && input !== null)
    throw refusal(
      input,
      'bad_fields',
      'output.fields: a row of a jsonl output has its record under "input" already',
      'Give that column another name.',
    );
  const table = (['delimiter', 'bom', 'lineEnds'] as const).map((key) => context.originOf(`output.${key}`)).find((one) => one !== null);
  if (format !== 'csv' && format !== 'tsv' && table !== undefined && table !== null)
    throw refusal(
      table,
      'bad_value',
      `${originName(table)} is for csv and tsv, and the output is ${format}`,
      'Leave it out, or end output.uri in .csv.',
    );
  const split = context.originOf('output.split');
  if (raw.output.split !== null && split !== null && format === 'parquet')
    throw refusal(
      split,
      'bad_value',
      `${originName(split)} is for csv, tsv and jsonl, and the output is parquet`,
      'Leave it out, and select by the column verify.result, or end output.uri in .csv.',
    );
  if (raw.output.split !== null && split !== null) {
    const wanted =
      raw.output.fields === null
        ? readSteps(raw.steps).names.includes('verify')
        : Object.values(raw.output.fields).includes('verify.result');
    if (!wanted || uri === '-')
      throw refusal(
        split,
        'bad_value',
        `${originName(split)} needs ${uri === '-' ? 'a file as the output' : 'the verdicts in the output'}`,
        'Add the step verify, and verify.result to output.fields where that is set; name a file as --output.',
      );
  }
  const marker = raw.output.marker === null ? null : context.expand(raw.output.marker, 'output.marker');
  return {
    uri,
    earlier: onEarlierDays(uri, (daysAgo) => context.expand(raw.output.uri ?? uri, 'output.uri', daysAgo)),
    format,
    compression,
    fields: raw.output.fields,
    escapeFormulas: raw.output.escapeFormulas,
    delimiter: raw.output.delimiter === 'input' ? null : delimiterOf(raw.output.delimiter),
    bom: raw.output.bom === 'input' ? null : raw.output.bom,
    split: raw.output.split,
    lineEnds: raw.output.lineEnds,
    marker,
  };
}

/** A delimiter as it is written in a job: `tab` and `\t` are a tab. */
export function delimiterOf(text: string | null): string | null {
  return text === 'tab' || text === String.raw`\t` ? '\t' : text;
}

/** Warns of columns that stay empty. */
export function warnOfIdleColumns(
  fields: Readonly<Record<string, string>> | null,
  { steps, ownSteps }: Pick<CompiledJob, 'steps' | 'ownSteps'>,
  context: CompileContext,
): void {
  for (const [name, path] of Object.entries(fields ?? {})) {
    const origin = context.originOf(`output.fields.${name}`);
    if (origin === null) continue;
    const { step, isKnown } = checkField(name, path, origin, ownSteps);
    if (!isKnown)
      context.warnings.push(
        `output.fields: the column ${show(name)} is filled only where the service sends ${show(path)}: the specification has no such field`,
      );
    if (step !== null && !steps.includes(step))
      context.warnings.push(`output.fields: the column ${show(name)} stays empty: the step ${step} is not configured`);
  }
}
