import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

test('the image contains everything that the package contains', () => {
  const { files } = JSON.parse(read('package.json')) as { files: string[] };
  const [copied, sent] = [read('Dockerfile'), read('.dockerignore').split('\n')];
  // The build, and the schema for editors.
  const data = files
    .filter((file) => !file.startsWith('!') && !file.startsWith('dist') && !file.startsWith('docs/'))
    .map((file) => file.replace(/^(fixtures\/[^/]+)\/.*/, '$1'));
  expect(data.length).toBeGreaterThan(3);
  expect(data.filter((file) => !copied.includes(`COPY ${file} ${file}\n`) || !sent.includes(`!${file}`))).toEqual([]);
});

test('everything that the image copies is sent to its build', () => {
  const sent = read('.dockerignore').split('\n');
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '));
  expect(copied.length).toBeGreaterThan(10);
  expect(copied.filter((source) => !sent.includes(`!${source}`))).toEqual([]);
});
