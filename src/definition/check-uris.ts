/** Checks the uris of a job: each kind of location, and that no two of them are the same file. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isS3Uri, parseS3Uri } from '../s3/uri.ts';
import { ConfigError } from '../util/errors.ts';
import type { CompiledJob } from './compiled-job.ts';
import { isShared } from './ledger-location.ts';
import { SIDE_FILES, sideFilePath, splitPath } from './output-shape.ts';
import { VERDICTS } from '../steps/verify.ts';
import { originName, refusal, show, type Origin } from './origin.ts';

/** Bytes. The limit of S3 is 1,024 (S3 User Guide, "Object key names"). */
const LONGEST_KEY = 950;

/** The check of each uri's location. */
export const URI_CHECKS: Readonly<Record<string, (uri: string, origin: Origin) => void>> = {
  'input.uri': checkInput,
  'output.uri': checkObject,
  'output.marker': checkObject,
  'checkpoint.uri': checkObject,
  suppress: checkObject,
};

function checkObject(uri: string, origin: Origin): void {
  if (!isS3Uri(uri)) return checkLocal(uri, origin);
  const key = parseS3Uri(uri)?.key ?? '';
  if (key === '' || key.endsWith('/'))
    throw refusal(origin, 'bad_value', `${originName(origin)} names no object: ${show(uri)}`, 'Write s3://bucket/key.');
  if (Buffer.byteLength(key) > LONGEST_KEY)
    throw refusal(
      origin,
      'bad_value',
      `${originName(origin)} must be ${LONGEST_KEY} bytes long at most, so that the names beside it fit into S3`,
    );
}

function checkInput(uri: string, origin: Origin): void {
  if (!isS3Uri(uri)) checkLocal(uri, origin);
  else if (parseS3Uri(uri) === null)
    throw refusal(
      origin,
      'bad_value',
      `${originName(origin)} names no bucket: ${show(uri)}`,
      'Write s3://bucket/key, s3://bucket/prefix/ or a glob such as s3://bucket/2026/*.csv.',
    );
}

/** The job's own files must not overwrite one another or the input. */
export function checkDistinct(job: Omit<CompiledJob, 'fingerprint'>, originOf: (path: string) => Origin | null): void {
  const seen = new Map<string, string>();
  const named: [string, string][] = [
    ...job.input.uris.map((uri): [string, string] => ['input.uri', uri]),
    ['output.uri', job.output.uri],
    ['output.marker', job.output.marker ?? ''],
    ['checkpoint.uri', job.checkpoint.uri],
    ['suppress', job.suppress ?? ''],
    ['ledger.uri', job.ledger.uri],
    ...besideOutput(job),
  ];
  for (const [key, uri] of named) {
    if (uri === '-' || uri === '') continue;
    const path = isShared(uri) ? uri : resolve(uri);
    const other = seen.get(path);
    if (other !== undefined && other !== key) {
      const origin = originOf(key) ?? originOf(other);
      const message = `${key} and ${other} are the same file, ${show(uri)}`;
      const hint =
        'Name another file for one of them. Beside the output stand .partial, .errors.jsonl, .open.jsonl, .report.* and the files of ' +
        'output.split.';
      throw origin === null ? new ConfigError('same_file', message, { hint }) : refusal(origin, 'same_file', message, hint);
    }
    seen.set(path, key);
  }
}

/** The files that a run writes beside the output and the checkpoint. */
function besideOutput({ output: { uri, split }, checkpoint }: Pick<CompiledJob, 'output' | 'checkpoint'>): [string, string][] {
  if (uri === '-') return [];
  const growing = SIDE_FILES.map((which) => sideFilePath(uri, which)).flatMap((path) => [path, `${path}.partial`]);
  return [
    ...[`${uri}.partial`, ...growing, `${uri}.report.json`, `${uri}.report.html`].map((path): [string, string] => [
      `the output's ${path.slice(uri.length)}`,
      path,
    ]),
    ...['.lock', '.shards'].map((suffix): [string, string] => [`the checkpoint's ${suffix}`, `${checkpoint.uri}${suffix}`]),
    ...(split === null ? [] : VERDICTS.map((verdict): [string, string] => [`the file of ${verdict} rows`, splitPath(uri, verdict)])),
  ];
}

/** Refuses URI schemes that this key does not support. */
export function checkLocal(uri: string, origin: Origin): void {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(uri)) return;
  throw refusal(
    origin,
    'bad_value',
    `${originName(origin)} must be a path on this machine, got ${show(uri)}`,
    pathOf(uri) ?? 'Write the path without a scheme.',
  );
}

/** The path of a `file://` URI. Null for other texts, and for a URI that names another machine. */
function pathOf(uri: string): string | null {
  try {
    return `Write the path without a scheme: ${show(fileURLToPath(uri))}`;
  } catch {
    return null;
  }
}
