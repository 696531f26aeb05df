/** Compiles the section `service` of a job: sugar for one provider that uses the definition `millrace`. */
import { BUILT_IN } from '../providers/definition/built-in.ts';
import { PERIODS_MS } from '../util/periods.ts';
import type { JobProvider } from './compiled-job.ts';
import { readCreditPrice } from './credit-price.ts';
import type { Origin } from './origin.ts';
import type { RawJob } from './schema.ts';
import { chooseService } from './service-choice.ts';
import { statedWindows } from './service-schema.ts';
import { specOf, type Step } from '../steps/registry.ts';
import { sourcesNamed, type KeySource } from '../steps/keys.ts';
import { kindsTaken, namesChosen } from './compile-providers.ts';
import type { Waterfalls } from './waterfall.ts';

/** The provider's name within the program. No row, message or file shows it. */
const NAME = 'service';

/** @throws ConfigError, UsageError without exactly one service */
export function compileService(
  { service }: Pick<RawJob, 'service'>,
  originOf: (path: string) => Origin | null,
  warnings: string[],
): JobProvider {
  const { baseUrl, embedded, plan, rpm } = chooseService(service, originOf, warnings);
  const planned = rpm === null ? (BUILT_IN.quota.plans[plan ?? ''] ?? []) : [{ limit: rpm, periodMs: PERIODS_MS.minute }];
  return {
    name: NAME,
    definition: BUILT_IN,
    baseUrl,
    embedded,
    plan,
    windows: [...planned, ...statedWindows(service.windows)],
    quota: service.quota,
    domainField: service.fields.domain,
    concurrency: service.concurrency,
    timeoutMs: service.timeoutMs,
    onUnavailable: 'wait',
    maxCalls: null,
    maxCredits: null,
    creditPrice: readCreditPrice(service.creditPrice),
  };
}

/** Every step asks the one service. @param raw the sections of the steps */
export function serviceWaterfalls(steps: readonly Step[], raw: object): Waterfalls {
  const kindsOf = (step: Step): readonly KeySource[] =>
    sourcesNamed(namesChosen(step, raw) ?? specOf(step).usual, kindsTaken(BUILT_IN, step));
  return Object.fromEntries(steps.map((step) => [step, { from: [NAME], keys: [kindsOf(step)], until: [], fields: 'whole' }]));
}
