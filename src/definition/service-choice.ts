/** Chooses the service and its pace. One layer's choice replaces that of a lower layer. */
import { ConfigError } from '../util/errors.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { originName, placeOf, refusal, show } from './origin.ts';
import type { Origin } from './origin.ts';
import type { Layer, Sourced } from './layers.ts';
import type { RawJob } from './schema.ts';

const SERVICE_KEYS = ['service.baseUrl', 'service.region', 'service.embedded'];
const QUOTA_KEYS = ['service.plan', 'service.rpm'];
const SERVICE_HINT =
  'Write --base-url https://..., or --region us with --service.regions.us https://..., or --embedded to try it out without an account ' +
  '(service.baseUrl, service.region, service.embedded in a job file).';

/** True for a key that makes a choice. `null` and `embedded: false` only take a choice back. */
const chooses = (sourced: Sourced | undefined): sourced is Sourced =>
  sourced !== undefined && sourced.value !== null && sourced.value !== false;

/**
 * Removes choices of lower layers that a higher layer replaces, so that `--rpm` replaces a file's plan and `--embedded` its address.
 * @throws when one layer chooses twice
 */
export function dropReplacedChoices(layers: readonly Layer[]): void {
  for (const group of [SERVICE_KEYS, QUOTA_KEYS]) {
    layers.forEach((layer, index) => {
      const chosen = group.filter((path) => chooses(layer.get(path)));
      if (chosen.length === 0) return;
      if (chosen.length > 1) throw chosenTwice(layer, chosen, group === SERVICE_KEYS);
      for (const lower of layers.slice(0, index)) for (const path of group) lower.delete(path);
    });
  }
}

function chosenTwice(layer: Layer, chosen: readonly string[], service: boolean): Error {
  const origins = chosen.map((path) => layer.get(path)?.origin).filter((origin): origin is Origin => origin !== undefined);
  const names = origins.map(originName).join(' and ');
  const first = origins[0];
  const place = first === undefined ? '' : placeOf(first);
  if (service)
    return new ConfigError('two_services', `${names} each choose a service${place}: one run asks one`, { hint: 'Keep one of them.' });
  const message = `${names} both say how fast: keep one`;
  const hint = 'A plan stands for its requests a minute (growth 1000, scale 5000, enterprise unlimited); rpm is the number itself.';
  return first === undefined ? new ConfigError('two_quotas', message, { hint }) : refusal(first, 'two_quotas', message, hint);
}

/** `plan` or `rpm`: the other one is null. */
interface ServiceChoice {
  readonly baseUrl: string | null;
  readonly embedded: boolean;
  readonly plan: 'growth' | 'scale' | 'enterprise' | null;
  readonly rpm: number | null;
}

/** Refuses keys of `service` in a job that names its providers. @throws ConfigError, UsageError */
export function refuseService(originOf: (path: string) => Origin | null, paths: Iterable<string>): void {
  for (const path of paths) {
    const origin = path.startsWith('service.') ? originOf(path) : null;
    if (origin === null) continue;
    throw refusal(
      origin,
      'two_services',
      `${originName(origin)} is about the one service of a job, and this job names its providers`,
      'Leave it out, and write the setting under the provider: providers: {millrace: {baseUrl: https://..., plan: growth}}.',
    );
  }
}

/** Exactly one service, at one pace. `originOf` returns the origin of a path's value. */
export function chooseService(service: RawJob['service'], originOf: (path: string) => Origin | null, warnings: string[]): ServiceChoice {
  const pace = choosePace(service, warnings);
  if (service.embedded) return { baseUrl: null, embedded: true, ...pace };
  if (service.baseUrl !== null) {
    return { baseUrl: checkUrl(service.baseUrl, originOf('service.baseUrl')), embedded: false, ...pace };
  }
  if (service.region === null) throw new ConfigError('no_service', 'No service is chosen: there is no default', { hint: SERVICE_HINT });
  const url = Object.hasOwn(service.regions, service.region) ? service.regions[service.region] : undefined;
  if (url === undefined) {
    const known = Object.keys(service.regions);
    const near = nearest(service.region, known);
    const message = `service.regions has no address for the region ${show(service.region)}${didYouMean(near)}`;
    const origin = originOf('service.region');
    throw new ConfigError('no_region', `${message}${origin === null ? '' : placeOf(origin)}`, {
      hint: known.length === 0 ? `Add --service.regions.${service.region} https://...` : `It has: ${known.join(', ')}.`,
    });
  }
  return { baseUrl: checkUrl(url, originOf(`service.regions.${service.region}`)), embedded: false, ...pace };
}

function choosePace(service: RawJob['service'], warnings: string[]): Pick<ServiceChoice, 'plan' | 'rpm'> {
  if (service.rpm !== null) return { plan: null, rpm: service.rpm };
  if (service.plan !== null) return { plan: service.plan, rpm: null };
  if (service.embedded) return { plan: 'enterprise', rpm: null };
  warnings.push(
    'Neither a plan nor rpm is given: taking the plan growth, 1,000 requests a minute. Say --plan scale or --rpm N to go faster.',
  );
  return { plan: 'growth', rpm: null };
}

/** Origin and path prefix without a trailing slash. A refused value is not shown, because its query or credentials may be secret. */
export function checkUrl(text: string, origin: Origin | null, name = origin === null ? 'service.baseUrl' : originName(origin)): string {
  const refuse = (problem: string, hint: string): Error => {
    const message = `${name} ${problem}`;
    return origin === null ? new ConfigError('bad_url', message, { hint }) : refusal(origin, 'bad_url', message, hint);
  };
  if (!URL.canParse(text)) throw refuse(`must be a URL, got ${show(text)}`, 'Write it whole: https://api.example.com');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw refuse('must begin with http:// or https://', 'Write it whole: https://api.example.com');
  if (url.username !== '' || url.password !== '')
    throw refuse('must not hold a user name or password', 'The API key has a variable of its own, such as MILLRACE_API_KEY.');
  if (url.search !== '' || url.hash !== '')
    throw refuse('must end after its path, without ? or #', 'The API key has a variable of its own, such as MILLRACE_API_KEY.');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
