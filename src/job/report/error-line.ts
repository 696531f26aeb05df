import type { RecordResult } from '../../processor/result.ts';
import type { InputManifest, InputRecord } from '../../formats/input-record.ts';

/**
 * A line of the errors file: `{file, line, step, key, code, attempts, requestId, provider?, raw?}`. Null unless the record is failed or
 * invalid.
 */
export function errorLine(manifest: InputManifest, record: InputRecord, result: RecordResult): string | null {
  if (result.outcome !== 'failed' && result.outcome !== 'invalid') return null;
  const { failure } = result;
  return JSON.stringify({
    ...originOf(manifest, record),
    step: failure?.step ?? null,
    key: failure?.key ?? null,
    code: failure?.code ?? result.error,
    attempts: failure?.attempts ?? 0,
    requestId: failure?.requestId ?? null,
    ...(failure?.provider === undefined ? {} : { provider: failure.provider }),
    ...(record.raw === null ? {} : { raw: record.raw }),
  });
}

/** The record that a line beside the output is about: its file as the job names it, and its first line in it. */
export function originOf(manifest: InputManifest, { file, line }: InputRecord): { readonly file: string | null; readonly line: number } {
  return { file: manifest.files[file]?.uri ?? null, line };
}
