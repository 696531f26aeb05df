/** Compiles the section `service` of a job. */
import { readCreditPrice } from './credit-price.ts';
import { PERIODS_MS } from '../util/periods.ts';
import type { CompiledJob } from './compiled-job.ts';
import type { Origin } from './origin.ts';
import type { RawJob } from './schema.ts';
import { chooseService, NO_SERVICE } from './service-choice.ts';
import { statedWindow } from './service-schema.ts';

/** Chooses the one service, and the pace of its calls. */
export function compileService(
  { service, providers }: RawJob,
  originOf: (path: string) => Origin | null,
  warnings: string[],
): Omit<CompiledJob['service'], 'quota'> {
  const hasProviders = Object.keys(providers).length > 0;
  const { baseUrl, embedded, plan, rpm } = hasProviders ? NO_SERVICE : chooseService(service, originOf, warnings);
  return {
    baseUrl,
    embedded,
    rpm,
    plan,
    concurrency: service.concurrency,
    timeoutMs: service.timeoutMs,
    windows: compileWindows(service.windows),
    creditPrice: readCreditPrice(service.creditPrice),
    domainField: service.fields.domain,
  };
}

/** `50000/day` becomes `{limit: 50000, per: day}`. */
function compileWindows(windows: RawJob['service']['windows']): CompiledJob['service']['windows'] {
  return windows.map(statedWindow).map(({ limit, per }) => ({ limit, periodMs: PERIODS_MS[per] }));
}
