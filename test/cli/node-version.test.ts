import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { NEEDED_NODE, oldNodeMessage } from '../../src/cli/node-version.ts';

test.each(['12.22.12', '18.20.4', '22.11.0'])('Node %s is told what is needed and where to find it', (version) => {
  const message = oldNodeMessage(version);
  expect(message).toContain(version);
  expect(message).toContain(`Node ${NEEDED_NODE}`);
  expect(message).toContain('npm ci');
});

test.each(['24.0.0', '24.21.0', '100.1.0', process.versions.node])('Node %s is new enough', (version) => {
  expect(oldNodeMessage(version)).toBeNull();
});

test('the Node version that the message asks for is the engine of package.json', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { engines: { node: string } };
  expect(engines.node).toBe(`>=${NEEDED_NODE}`);
});

test('the code before the version check imports nothing that an old Node lacks, and uses no syntax newer than Node 12', () => {
  for (const [file, imported] of [
    ['millrace.ts', ['./give-way.ts', './heap.ts', './node-version.ts']],
    ['node-version.ts', []],
    ['heap.ts', []],
    ['give-way.ts', ['node:os']],
  ] as const) {
    const source = readFileSync(new URL(`../../src/cli/${file}`, import.meta.url), 'utf8');
    const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, '');
    expect(code).not.toMatch(/\?\.|\?\?|\bawait\b/);
    expect([...code.matchAll(/^import .* from '(.*)'/gm)].map(([, from]) => from)).toEqual(imported);
  }
});
