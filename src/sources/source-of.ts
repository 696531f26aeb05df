/** Chooses the source that a path or uri belongs to. */
import { isS3Uri } from '../s3/uri.ts';
import { findLocal } from './local-files.ts';
import { identifyFile, readFileRange } from './local-source.ts';
import type { Source } from './source.ts';

const localSource: Source = { find: findLocal, identify: identifyFile, readRange: readFileRange };

/** The S3 source is loaded on first use, because loading the SDK takes a tenth of a second. */
export async function sourceOf(path: string): Promise<Source> {
  return isS3Uri(path) ? (await import('./s3-source.ts')).s3Source() : localSource;
}
