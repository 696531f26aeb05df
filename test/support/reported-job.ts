/** A job for tests of reports. */
import type { CompiledJob } from '../../src/definition/compiled-job.ts';
import { compiled, type Flags } from '../definition/support.ts';

/** A job of the embedded service, which limits nothing. @param more flags besides input and output */
export function reportedJob(output = 'out.csv', more: Flags = {}): CompiledJob {
  return compiled({ flags: { input: 'in.csv', output, embedded: true, ...more } });
}
