/** Every client library does what clients/BEHAVIOUR.md says, against the real service. */
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../clients/conformance/languages.ts';
import { operationIds } from '../../clients/conformance/operations.ts';
import { runLanguage } from '../../clients/conformance/run-language.ts';
import { readScenarios } from '../../clients/conformance/scenario.ts';
import { World } from '../../clients/conformance/world.ts';
import { available } from '../services/debian.ts';

const scenarios = readScenarios();

/** Operations that succeed in a scenario. */
const covered = new Map(scenarios.map(({ name, covers = [] }) => [name, covers]));

let world: World;
beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world.close());

it.each(LANGUAGES)('the $name library passes every scenario, and has a method for each operation', async ({ name, prepare }) => {
  const language = await prepare();
  if (typeof language === 'string') {
    available(false, `the ${name} library`, language);
    return;
  }
  const results = await runLanguage(language, scenarios, world);
  expect(results.length).toBeGreaterThanOrEqual(scenarios.length);
  expect(
    results.flatMap(({ scenario, variant, failures }) => (failures ?? []).map((failure) => `${variant}: ${scenario}: ${failure}`)),
  ).toEqual([]);
  for (const variant of language.variants) {
    const run = results.filter((result) => result.variant === variant && result.failures !== null);
    expect(new Set(run.flatMap(({ scenario }) => covered.get(scenario) ?? [])), variant).toEqual(new Set(operationIds()));
  }
});

describe('the scenarios of the client libraries', () => {
  it('every operation but the reference page has a scenario in which it succeeds', () => {
    expect(new Set([...covered.values()].flat())).toEqual(new Set(operationIds()));
  });

  it('each scenario has a name of its own', () => {
    const names = scenarios.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('docs/clients/conformance.md has a row for each scenario, a column for each language, and no red cell', () => {
    const path = 'docs/clients/conformance.md';
    expect(existsSync(path)).toBe(true);
    const rows = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
    expect(rows.map(([name]) => name)).toEqual(['scenario', ...scenarios.map(({ name }) => name)]);
    expect(rows[0]?.slice(1)).toEqual(LANGUAGES.map(({ name }) => name));
    expect(rows.filter((row) => row.some((cell) => cell.startsWith('red')))).toEqual([]);
  });
});
