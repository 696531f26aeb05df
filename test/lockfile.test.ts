import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Locked {
  readonly version?: string;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: Record<string, string>;
}

const packages = Object.entries(
  (JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as { packages: Record<string, Locked> }).packages,
);

test('packages for other machines are locked as well, or `npm ci` fails there and on newer npms everywhere', () => {
  const locked = new Set(packages.map(([path]) => path.replace(/^.*node_modules\//, '')));
  const missing = packages
    .flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies))
    .filter((name) => !locked.has(name));
  expect(packages.length).toBeGreaterThan(100);
  expect(missing).toEqual([]);
});

test('no package runs a script when it is installed, and none is bound to the registry that it was resolved from', () => {
  expect(packages.filter(([, { hasInstallScript = false }]) => hasInstallScript).map(([path]) => path)).toEqual([]);
  expect(packages.filter(([, { resolved, link = false }]) => resolved !== undefined && !link).map(([path]) => path)).toEqual([]);
});
