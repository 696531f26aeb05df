/** `millrace serve`: the service in the foreground until it is told to stop. */
import { once } from 'node:events';
import { ConfigError } from '../errors.ts';
import type { Faults } from './faults.ts';
import type { Region } from './keys.ts';
import { sampleStorePath, startService, type MailOptions } from './start-service.ts';

export interface ServeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly store: string | null;
  readonly region: Region;
  readonly sample: boolean;
  /** How to introduce oneself to mail servers; null: they are not asked, save those of the sample. */
  readonly smtp: NonNullable<MailOptions['smtp']> | null;
  readonly faults: Partial<Faults>;
}

/**
 * Serves until `signal` aborts, then answers what is in flight and returns. Prints one line of JSON, `{"url", "pid"}`, on standard output once it is ready.
 * @throws ConfigError when it is not said what to serve, or the address cannot be listened on; StorageError when the store cannot be used.
 */
export async function serve(options: ServeOptions, signal: AbortSignal): Promise<void> {
  const { host, port, region, sample, faults } = options;
  if (options.store === null && !sample) {
    throw new ConfigError('no_store', 'nothing to serve: no store was given', {
      hint: 'pass --store FILE (made when missing) for data of your own, or --sample for the sample set',
    });
  }
  const service = await startService({ store: options.store ?? (await sampleStorePath()), host, port, region, sample, faults, ...(sample || options.smtp === null ? {} : { mail: { smtp: options.smtp } }) });
  try {
    process.stdout.write(`${JSON.stringify({ url: service.url, pid: process.pid })}\n`);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await service.close();
  }
}
