import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Who may import a room of src/, by folder; rooms not named here may be imported by any. `docs/decisions/walls.md` says why. */
const WALLS: readonly { readonly from: RegExp; readonly to: RegExp; readonly why: string }[] = [
  { from: /^src\/(?!cli\/)/, to: /^src\/cli\//, why: 'nothing imports cli/' },
  { from: /^src\/(?!service\/|cli\/)/, to: /^src\/service\//, why: 'the pipeline reaches the service only through client/' },
  { from: /^src\/service\//, to: /^src\/(pool|limiter|reader|writer|checkpoint|ledger|processor)\//, why: 'service/ knows nothing of the pipeline' },
  { from: /^src\/verification\//, to: /^src\/(?!verification\/|errors)/, why: 'verification/ knows neither the pipeline nor HTTP' },
  { from: /^src\/client\//, to: /^src\/(?!client\/|errors)/, why: 'client/ is a library of its own' },
  { from: /^src\/index\.ts$/, to: /^src\/(?!client\/|errors)/, why: 'the library is the client' },
];

/** The one folder or file that owns each third-party package. */
const OWNERS: Readonly<Record<string, RegExp>> = {
  bottleneck: /^src\/limiter\//,
  'p-queue': /^src\/pool\//,
  'fast-csv': /^src\/(reader|writer)\/csv-/,
  '@fast-csv/parse': /^src\/reader\/csv-/,
  pino: /^src\/monitor\/json-log\.ts$/,
  yargs: /^src\/cli\//,
  undici: /^src\/client\//,
  fastify: /^src\/service\//,
  graphql: /^src\/service\/graphql\//,
  ioredis: /^src\/redis\//,
  '@aws-sdk/client-s3': /^src\/s3\//,
  '@aws-sdk/credential-provider-node': /^src\/s3\/credentials\.ts$/,
  zod: /^src\/(job\/definition|service)\//,
  tldts: /^src\/verification\/registrable\.ts$/,
  'dns-packet': /^src\/(verification\/dns|service\/mail-world)\//,
  yaml: /^src\/job\/definition\//,
};

/** Pure modules: no clock, file or network, whatever else they import. */
const PURE = ['src/limiter/rate-headers.ts', 'src/limiter/quota-model.ts', 'src/limiter/call-log.ts', 'src/limiter/comeback.ts', 'src/limiter/evidence.ts', 'src/limiter/latencies.ts', 'src/limiter/neighbours.ts', 'src/limiter/looks.ts', 'src/limiter/plan-pace.ts', 'src/limiter/small-bucket.ts', 'src/limiter/told-answers.ts', 'src/limiter/reset-unit.ts', 'src/limiter/shared/leader.ts', 'src/limiter/shared/member.ts', 'src/limiter/shared/messages.ts', 'src/limiter/shared/scripts.ts', 'src/pool/retry-policy.ts', 'src/pool/circuit.ts', 'src/pool/adaptive-concurrency.ts', 'src/checkpoint/low-watermark.ts', 'src/processor/keys.ts', 'src/processor/request-size.ts', 'src/processor/address-queue.ts', 'src/processor/too-large.ts', 'src/processor/verify-outcome.ts', 'src/client/retry-after.ts', 'src/service/quota.ts', 'src/service/webhooks/filter.ts', 'src/service/webhooks/retries.ts', 'src/service/webhooks/slots.ts', 'src/pool/retry-budget.ts', 'src/pool/patience.ts', 'src/s3/limits.ts', 'src/s3/uri.ts', 'src/redis/uri.ts', 'src/ledger/place.ts', 'src/ledger/reuse.ts', 'src/ledger/redis/answers.ts', 'src/storage/names.ts', 'src/storage/part-sizes.ts', 'src/storage/resumable-sha256.ts', 'src/reader/names.ts', 'src/job/definition/run-date.ts', 'src/job/call-slots.ts', 'src/job/call-series.ts', 'src/job/report-page/page-data.ts', 'src/job/report-page/report-page.ts', 'src/job/report-page/counts.ts', 'src/job/report-page/requests.ts', 'src/job/report-page/latency.ts', 'src/job/report-page/ending.ts', 'src/job/report-page/words.ts', 'src/html.ts', 'src/cli/tables.ts'];
const IMPURE = /Date\.now\(|new Date\(\)|performance\.now\(|setTimeout|setInterval|Math\.random\(|from 'node:(fs|net|http|https|dns|child_process|timers)/;

const files = globSync('src/**/*.ts');
const imports = files.flatMap((file) => {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/^(?:import|export|\}).*? from '([^']+)';$|\bimport\('([^']+)'\)/gm)].map(([, statically, lazily]) => ({ file, target: statically ?? lazily ?? '' }));
});

describe('the walls of the house', () => {
  it('sees the imports', () => {
    expect(imports.length).toBeGreaterThan(100);
  });

  it.each(WALLS)('$why', ({ from, to }) => {
    const broken = imports.filter(({ file, target }) => target.startsWith('.') && from.test(file) && to.test(relative('.', join(dirname(file), target))));
    expect(broken).toEqual([]);
  });

  it('each third-party package has one owner', () => {
    const strangers = imports.filter(({ file, target }) => {
      if (target.startsWith('.') || target.startsWith('node:')) return false;
      const name = target.split('/').slice(0, target.startsWith('@') ? 2 : 1).join('/');
      return OWNERS[name]?.test(file) !== true;
    });
    expect(strangers).toEqual([]);
  });

  it('the AWS SDK and the Redis client are loaded only for what lies there: that takes a tenth of a second', () => {
    const reached = loadedWith('src/job/run-command.ts');
    expect(reached).toContain('src/reader/sources.ts');
    expect(reached.filter((file) => /^src\/(s3|redis)\//.test(file)).sort()).toEqual(['src/redis/uri.ts', 'src/s3/uri.ts']);
  });

  it('the service begins without GraphQL, which is loaded with the first request for it: a tenth of a second too, and 20 MB', () => {
    const reached = loadedWith('src/service/serve-command.ts');
    expect(reached).toContain('src/service/graphql/endpoint.ts');
    expect(imports.filter(({ file, target }) => target === 'graphql' && reached.includes(file))).toEqual([]);
  });

  it.each(PURE)('%s is pure', (file) => {
    expect(readFileSync(file, 'utf8')).not.toMatch(IMPURE);
  });
});

/** A file and what is loaded with it: what it imports statically, and so on. Types are not loaded. */
function loadedWith(file: string, found = new Set<string>()): string[] {
  found.add(file);
  for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(/^(?:import (?!type )|export (?!type )|\}).*? from '(\.[^']+)';$/gm)) {
    const path = join(dirname(file), target);
    if (!found.has(path)) loadedWith(path, found);
  }
  return [...found];
}
