/** The order of the rooms (docs/ARCHITECTURE.md): a room imports only rooms above it. `docs/decisions/walls.md` says why. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FEATURES, ROOMS } from './support/rooms.ts';

/** Rooms of the pipeline that the service may import: those up to this one. The rest it reaches by nothing. */
const LAST_ROOM_FOR_SERVICE = 'verification';

/** The one folder or file that owns each third-party package. */
const OWNERS: Readonly<Record<string, RegExp>> = {
  bottleneck: /^src\/limiter\//,
  'p-queue': /^src\/pool\//,
  'fast-csv': /^src\/formats\/csv\//,
  '@fast-csv/parse': /^src\/formats\/csv\//,
  pino: /^src\/telemetry\/json-log\.ts$/,
  yargs: /^src\/cli\//,
  undici: /^src\/client\//,
  fastify: /^src\/service\//,
  graphql: /^src\/service\/graphql\//,
  ioredis: /^src\/redis\//,
  '@aws-sdk/client-s3': /^src\/s3\//,
  '@aws-sdk/credential-provider-node': /^src\/s3\/credentials\.ts$/,
  zod: /^src\/(definition|providers|service)\//,
  tldts: /^src\/verification\/registrable\.ts$/,
  'dns-packet': /^src\/(verification\/dns|service\/sample\/mail-world)\//,
  'lru-cache': /^src\/util\/lru-map\.ts$/,
  yaml: /^src\/documents\//,
  jsonata: /^src\/providers\//,
  hyparquet: /^src\/formats\/parquet\//,
  'hyparquet-writer': /^src\/formats\/parquet\//,
};

const IMPURE = new RegExp(
  String.raw`Date\.now\(|new Date\(\)|performance\.now\(|setTimeout|setInterval|Math\.random\(|` +
    "from 'node:(fs|net|http|https|dns|child_process|timers)",
);

interface Import {
  readonly file: string;
  readonly target: string;
  /** Types are not loaded when the program runs. */
  readonly isType: boolean;
  readonly isLazy: boolean;
}

const files = globSync('src/**/*.ts');
const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
const imports = files.flatMap(importsOf);

function importsOf(file: string): Import[] {
  const found = (texts.get(file) ?? readFileSync(file, 'utf8')).matchAll(
    /^(?:import|export) (type )?(?:[^;'"]*? from )?'([^']+)';$|\bimport\(\s*'([^']+)'/gm,
  );
  return [...found].map(([, type, statically, lazily]) => {
    const target = statically ?? lazily ?? '';
    return {
      file,
      target: target.startsWith('.') ? join(dirname(file), target) : target,
      isType: type !== undefined,
      isLazy: statically === undefined,
    };
  });
}

const isInside = (target: string): boolean => target.startsWith('src/');

const isOurs = (target: string): boolean => /^(?:src|test|bench|clients)\/.*\.ts$/.test(target);

/** The folder of a file at this depth below src/, or the file itself: `src/job/run/loop.ts` at depth 1 is `job`. */
const folderOf = (path: string, depth: number): string => path.split('/')[depth] ?? '';

const floorOf = (order: readonly string[], room: string): number => order.indexOf(room);

describe('the order of the rooms', () => {
  it('covers every room, and finds the imports', () => {
    expect([...new Set(files.map((file) => folderOf(file, 1)))].sort()).toEqual([...ROOMS].sort());
    expect(imports.length).toBeGreaterThan(1_000);
  });

  it('lets no import run up', () => {
    const rises = imports.filter(
      ({ file, target }) => isInside(target) && floorOf(ROOMS, folderOf(target, 1)) > floorOf(ROOMS, folderOf(file, 1)),
    );
    expect(rises).toEqual([]);
  });

  it('keeps the service apart from the pipeline', () => {
    const isPipeline = (target: string): boolean => {
      const room = folderOf(target, 1);
      return room !== 'service' && floorOf(ROOMS, room) > floorOf(ROOMS, LAST_ROOM_FOR_SERVICE);
    };
    const crossing = imports.filter(({ file, target }) => isInside(target) && folderOf(file, 1) === 'service' && isPipeline(target));
    const reached = imports.filter(
      ({ file, target }) =>
        folderOf(target, 1) === 'service' && isInside(target) && !['service', 'library', 'cli'].includes(folderOf(file, 1)),
    );
    expect([...crossing, ...reached]).toEqual([]);
  });

  it('loads the client and the check of addresses with the package, and the pipeline with the first job', () => {
    const rooms = new Set(loadedWith('src/index.ts').map((file) => folderOf(file, 1)));
    expect([...rooms].sort()).toEqual(['client', 'index.ts', 'library', 'util', 'verification']);
  });
});

describe('circles', () => {
  const ours = globSync('{src,test,bench,clients}/**/*.ts', { exclude: ['**/node_modules/**'] });

  it('no file imports itself through others, types included', () => {
    expect(circlesOf(new Map(ours.map((file) => [file, targetsOf(file)])))).toEqual([]);
  });

  it('a circle is found with its files in order', () => {
    const graph = { a: ['b', 'd'], b: ['c', 'd'], c: ['b'], d: [], e: ['e'] };
    expect(circlesOf(new Map(Object.entries(graph)))).toEqual([
      ['b', 'c', 'b'],
      ['e', 'e'],
    ]);
  });
});

describe('the order of the features of the service', () => {
  const inside = imports.filter(({ file, target }) => file.startsWith('src/service/') && target.startsWith('src/service/'));

  it('covers every folder', () => {
    const folders = new Set(files.filter((file) => file.startsWith('src/service/')).map((file) => folderOf(file, 2)));
    expect([...folders].sort()).toEqual([...FEATURES].sort());
  });

  it('lets no import run up', () => {
    const rises = inside.filter(({ file, target }) => floorOf(FEATURES, folderOf(target, 2)) > floorOf(FEATURES, folderOf(file, 2)));
    expect(rises).toEqual([]);
  });
});

describe('packages and loading', () => {
  it('gives each third-party package one owner', () => {
    const strangers = imports.filter(({ file, target }) => {
      if (isInside(target) || target.startsWith('node:')) return false;
      const name = target
        .split('/')
        .slice(0, target.startsWith('@') ? 2 : 1)
        .join('/');
      return OWNERS[name]?.test(file) !== true;
    });
    expect(strangers).toEqual([]);
  });

  it('loads the AWS SDK and the Redis client only for what lies there, which takes a tenth of a second', () => {
    const reached = loadedWith('src/job/commands/run-command.ts');
    expect(reached).toContain('src/sources/source-of.ts');
    expect(reached.filter((file) => /^src\/(s3|redis)\//.test(file)).sort()).toEqual(['src/redis/uri.ts', 'src/s3/uri.ts']);
  });

  it('starts the service without GraphQL, which takes a tenth of a second and 20 MB', () => {
    const reached = loadedWith('src/service/admin/serve-command.ts');
    expect(reached).toContain('src/service/graphql/graphql-endpoint.ts');
    expect(imports.filter(({ file, target }) => target === 'graphql' && reached.includes(file))).toEqual([]);
  });
});

describe('modules whose header says that they are pure', () => {
  const pure = files.filter((file) => /^\/\*\*(?:(?!\*\/)[^])*\bPure\b/.test(texts.get(file) ?? ''));

  it('exist in large number, so this test has something to check', () => {
    expect(pure.length).toBeGreaterThan(100);
  });

  it.each(pure)('%s uses no clock, timer, chance, file or network', (file) => {
    expect(texts.get(file)).not.toMatch(IMPURE);
  });
});

/** A file and all files that are loaded with it. */
function loadedWith(file: string, found = new Set<string>()): string[] {
  found.add(file);
  for (const { target, isType, isLazy } of importsOf(file)) {
    if (isInside(target) && !isType && !isLazy && !found.has(target)) loadedWith(target, found);
  }
  return [...found];
}

function targetsOf(file: string): string[] {
  return importsOf(file).flatMap(({ target }) => (isOurs(target) ? [target] : []));
}

/** The circles that a walk through all files closes. Without a circle there is none. */
function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const walk = (file: string): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file]);
    if (path.includes(file) || done.has(file)) return;
    path.push(file);
    for (const target of graph.get(file) ?? []) walk(target);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) walk(file);
  return circles;
}
