/** Runs the scenarios in one language: one process of its runner, and a proxy for each scenario between it and the service. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { FaultProxy, type Fault, type Relayed } from '../../test/services/fault-proxy.ts';
import { problem } from '../../src/service/http/problem.ts';
import { differences } from './check.ts';
import type { Language } from './runner.ts';
import { operationOf } from './operations.ts';
import type { Report, Scenario, ScenarioFault, Task } from './scenario.ts';
import type { World } from './world.ts';

/** Many times what a runner takes: a library that waits forever is ended. */
const LONGEST_RUN_MS = 300_000;
/** The stream is usually open by then; if not, it begins with these signals. */
const STREAM_OPENS_MS = 300;

export interface Result {
  readonly scenario: string;
  readonly variant: string;
  /** Null for a scenario that this variant cannot run, as `languages.ts` says. */
  readonly failures: readonly string[] | null;
}

interface Set {
  readonly scenario: Scenario;
  readonly task: Task;
  readonly proxy: FaultProxy;
  /** When each request came, monotonic milliseconds. */
  readonly arrivals: number[];
}

/** @throws Error when the runner does not start, or prints something else than reports */
export async function runLanguage(language: Language, scenarios: readonly Scenario[], world: World): Promise<Result[]> {
  const sets: Set[] = [];
  await world.signDeliveries();
  const forward = { HTTP_PROXY: await FaultProxy.start(world.urlOf('usual')), ALL_PROXY: await FaultProxy.start(world.urlOf('usual')) };
  try {
    for (const variant of language.variants) {
      for (const scenario of scenarios) {
        const isSecond = scenario.memory_mib !== undefined && variant !== language.variants[0];
        if (!isSecond && language.unsupported[variant]?.includes(scenario.name) !== true)
          sets.push(await setUp(scenario, variant, world, forward));
      }
    }
    const output = await runRunner(language, sets, { HTTP_PROXY: forward.HTTP_PROXY.url, ALL_PROXY: forward.ALL_PROXY.url });
    const reports = output.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Report);
    const results = sets.map((set): Result => {
      const report = reports.find(({ name, variant }) => name === set.task.name && variant === set.task.variant);
      const failures = report === undefined ? ['the runner printed no report'] : check(set, report, world);
      if (`${output.stdout}${output.stderr}`.includes(set.task.api_key)) failures.push('the API key is in the output');
      return { scenario: set.task.name, variant: set.task.variant, failures };
    });
    const skipped = language.variants.flatMap((variant) =>
      (language.unsupported[variant] ?? []).map((scenario): Result => ({ scenario, variant, failures: null })),
    );
    return [...results, ...skipped];
  } finally {
    await Promise.all([...Object.values(forward), ...sets.map(({ proxy }) => proxy)].map((proxy) => proxy.stop()));
  }
}

type Proxies<T> = Readonly<Record<NonNullable<Scenario['through_proxy']>, T>>;

async function setUp(scenario: Scenario, variant: string, world: World, forward: Proxies<FaultProxy>): Promise<Set> {
  const service = scenario.service ?? 'usual';
  const key = world.key(scenario.key, service);
  const proxy = scenario.through_proxy === undefined ? await FaultProxy.start(world.urlOf(service)) : forward[scenario.through_proxy];
  const left = [...(scenario.faults ?? [])];
  const arrivals: number[] = [];
  proxy.faultFor = ({ url }) => {
    arrivals.push(performance.now());
    const next = left[0];
    if (next === undefined || (typeof next === 'object' && next?.on !== undefined && !url.includes(next.on))) return null;
    left.shift();
    return faultOf(next, url, key, world);
  };
  const task: Task = {
    name: scenario.name,
    alone: scenario.alone === true,
    variant,
    base_url: scenario.base_url ?? proxy.url + (scenario.base_path ?? ''),
    api_key: key,
    options: scenario.options ?? {},
    steps: withValues(scenario.steps, world.values) as Task['steps'],
  };
  return { scenario, task, proxy, arrivals };
}

function faultOf(fault: ScenarioFault, url: string, key: string, world: World): Fault | null {
  if (fault === null) return null;
  if (fault === 'spend_quota') return { kind: 'held', until: world.spendQuota(key) };
  if (typeof fault === 'string') return { kind: fault };
  if (fault.cut !== undefined) return { kind: 'cut', afterBytes: fault.cut };
  if (fault.stall !== undefined) return { kind: 'stall', afterBytes: fault.stall };
  if (fault.dribble_headers !== undefined) return { kind: 'dribbled headers', everyMs: fault.dribble_headers * 1000 };
  if (fault.dribble !== undefined) return { kind: 'dribble', everyMs: fault.dribble * 1000 };
  if (fault.late !== undefined) return { kind: 'held', until: sleep(fault.late * 1000, undefined, { ref: false }) };
  if (fault.add_people !== undefined) return { kind: 'held', until: Promise.resolve(world.addPeople(fault.add_people)) };
  if (fault.add_signals !== undefined) {
    setTimeout(() => world.addSignals(fault.add_signals ?? 0), STREAM_OPENS_MS).unref();
    return null;
  }
  if (fault.problem !== undefined) {
    const body = problem(fault.problem, 'as the scenario wants', url, 'req_of_body', [{ pointer: '/why', code: 'why', detail: 'here' }]);
    const { status } = JSON.parse(body) as { status: number };
    return { kind: 'answer', status, body, headers: { 'content-type': 'application/problem+json', ...fault.headers } };
  }
  const body = withValues(fault.body ?? '', world.values);
  const words = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('$api_key', key);
  const headers = Object.entries({ 'content-type': 'text/html', ...fault.headers }).map(([name, value]) => [name, words(value)]);
  return { kind: 'answer', status: fault.answer ?? 200, body: words(body), headers: Object.fromEntries(headers) as Record<string, string> };
}

/** The same with `$name` replaced by the value of that name, wherever it is a whole text. `$0.id` stays for the runner. */
function withValues(value: unknown, values: World['values']): unknown {
  if (typeof value === 'string') return value.startsWith('$') && Object.hasOwn(values, value.slice(1)) ? values[value.slice(1)] : value;
  if (Array.isArray(value)) return value.map((one) => withValues(one, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withValues(one, values)]));
}

async function runRunner(
  language: Language,
  sets: readonly Set[],
  forward: Proxies<string>,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { command, args, cwd, env = {} } = language.runner;
  // NO_PROXY keeps all but the scenarios of proxies from them.
  const proxies = { ...forward, http_proxy: forward.HTTP_PROXY, NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost' };
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env, ...proxies },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: LONGEST_RUN_MS,
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify({ scenarios: sets.map(({ task }) => task) }));
  const ended = new Promise<number | null>((resolve, reject) => void child.once('error', reject).once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code === null)
    throw new Error(`${language.name}: the runner did not end within ${LONGEST_RUN_MS} ms; it printed ${stdout.length} characters`);
  if (code !== 0) throw new Error(`${language.name}: the runner ended with ${code}\n${stderr.slice(-4000)}`);
  return { stdout, stderr };
}

function check({ scenario, task, proxy, arrivals }: Set, report: Report, world: World): string[] {
  const { values } = world;
  const seen =
    scenario.through_proxy === 'HTTP_PROXY'
      ? proxy.relayed.filter(({ headers }) => headers['authorization'] === `Bearer ${task.api_key}`)
      : proxy.relayed;
  const failures = scenario.outcomes.flatMap((expected, i) => outcomeDifferences(expected, report.outcomes[i], `outcome ${i}`, values));
  const expect = (wanted: unknown, actual: unknown, what: string): void => {
    if (wanted !== undefined) failures.push(...differences(wanted, actual, what, values));
  };
  expect(
    scenario.requests,
    seen.map(({ method, url }) => `${method} ${pathOf(url)}`),
    'requests',
  );
  expect(
    scenario.queries,
    scenario.queries?.map((_, i) => new URL(seen[i]?.url ?? '', 'http://x').search.slice(1)),
    'queries',
  );
  expect(
    scenario.headers,
    scenario.headers?.map((_, i) => seen[i]?.headers),
    'headers',
  );
  if (proxy.connections > (scenario.connections_at_most ?? Infinity)) {
    failures.push(`expected at most ${scenario.connections_at_most} connections, got ${proxy.connections}`);
  }
  if (scenario.credits_left !== undefined) expect(scenario.credits_left, world.creditsLeft(task.api_key), 'credits left');
  const { requests_at_least: least = 0, requests_at_most: most = Infinity } = scenario;
  if (seen.length < least || seen.length > most) failures.push(`expected ${least} to ${most} requests, got ${seen.length}`);
  for (const [i, seconds] of (scenario.pauses ?? []).entries()) {
    const pause = (arrivals[i + 1] ?? NaN) - (arrivals[i] ?? NaN);
    // Two clocks, and timers that fire a little early.
    if (!(pause >= seconds * 1000 - 20))
      failures.push(`expected a pause of ${seconds} s after request ${i + 1}, got ${Math.round(pause)} ms`);
  }
  const called = new Set(seen.map(({ method, url }) => operationOf(method, pathOf(url))));
  failures.push(...(scenario.covers ?? []).filter((id) => !called.has(id)).map((id) => `the operation ${id} was not called`));
  failures.push(...checkKeys(scenario, seen));
  const { memory_mib: mostMib = Infinity } = scenario;
  if (typeof report.memory_mib === 'number' && report.memory_mib > mostMib) {
    failures.push(`expected at most ${mostMib} MiB of memory, got ${Math.round(report.memory_mib)}`);
  }
  return failures;
}

/** An expected null is also what a missing field reads as, so an error where a result is expected is a difference of its own. */
function outcomeDifferences(expected: unknown, actual: unknown, at: string, values: World['values']): string[] {
  const kindOf = (outcome: unknown): string => (typeof outcome === 'object' && outcome !== null && 'error' in outcome ? 'error' : 'result');
  return kindOf(expected) === kindOf(actual)
    ? differences(expected, actual, at, values)
    : [`${at}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`];
}

function checkKeys(scenario: Scenario, seen: readonly Relayed[]): string[] {
  const posts = seen.filter(({ method }) => method === 'POST');
  const keys = posts.map(({ headers }) => headers['idempotency-key']);
  const different = new Set(keys).size;
  const failures = keys.includes(undefined) ? ['a POST has no Idempotency-Key'] : [];
  if (seen.some(({ method, headers }) => method !== 'POST' && headers['idempotency-key'] !== undefined))
    failures.push('a request other than POST has an Idempotency-Key');
  if (scenario.same_key === true && different !== 1) failures.push(`expected one Idempotency-Key over all attempts, got ${different}`);
  if (scenario.other_keys === true && different !== keys.length)
    failures.push(`expected an Idempotency-Key for each call, got ${different}`);
  return failures;
}

function pathOf(url: string): string {
  return url.replace(/^http:\/\/[^/]+/, '').split('?')[0] ?? '';
}
