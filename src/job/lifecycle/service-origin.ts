/** The names of a service: for its quota, and for its answers in a ledger. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';

/** The address of a service; null for the embedded one, which has one name, because its port changes. */
type BaseUrl = JobProvider['baseUrl'];

/** The origin, by which a quota is shared. */
export function serviceOrigin(baseUrl: BaseUrl): string {
  return baseUrl === null ? 'embedded' : new URL(baseUrl).origin;
}

/**
 * The name under which the ledger has a service's answers: origin and path, because a gateway may serve two services on one host. A run
 * that an earlier version began goes on with the origin alone.
 */
export function ledgerOrigin(baseUrl: BaseUrl, { ledgerKey }: Pick<Checkpoint, 'ledgerKey'>): string {
  return ledgerKey === 'path' ? `${serviceOrigin(baseUrl)}${pathOf(baseUrl)}` : serviceOrigin(baseUrl);
}

/** For the checkpoint of a new run, where an address has a path. */
export function newLedgerKey({ providers }: Pick<CompiledJob, 'providers'>): Pick<Checkpoint, 'ledgerKey'> {
  return providers.some(({ baseUrl }) => pathOf(baseUrl) !== '') ? { ledgerKey: 'path' } : {};
}

/** Addresses whose answers an earlier version may have stored under the origin alone. */
export function addressesWithPath({ providers }: Pick<CompiledJob, 'providers'>): readonly string[] {
  return providers.flatMap(({ baseUrl }) => (baseUrl !== null && pathOf(baseUrl) !== '' ? [baseUrl] : []));
}

function pathOf(baseUrl: BaseUrl): string {
  return baseUrl === null ? '' : new URL(baseUrl).pathname.replace(/\/+$/, '');
}
