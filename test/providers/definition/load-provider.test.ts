import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compileProvider } from '../../../src/providers/definition/compile-provider.ts';
import { loadProvider } from '../../../src/providers/definition/load-provider.ts';
import { MAX_DOCUMENT_BYTES } from '../../../src/documents/read-document.ts';
import { LEAST } from './support.ts';

let folder = '';
const at = (name: string): string => join(folder, name);
const FILES: Readonly<Record<string, string>> = {
  'base.yaml': `name: base\ntimeoutMs: 5000\nquota: {plans: {free: [1/second], pro: []}}\n${LEAST}`,
  'sub/mine.yaml': 'use: ../base.yaml\nname: mine\ntls: {caFile: ca.pem}\nquota:\n  plans: {free: [2/second], pro: null}\n',
  'sub/deeper/mine.json': '{"use": "../mine.yaml", "concurrency": 3, "tls": {"certFile": "c.pem", "keyFile": "k.pem"}}',
  'sub/wrong.yaml': 'use: ../base.yaml\nname: wrong\noperations:\n  enrich:\n    keys: [emial]\n',
  'inherits-wrong.yaml': 'use: sub/wrong.yaml\nname: heir\n',
  'lost.yaml': 'use: ./nowhere.yaml\n',
  'odd.yaml': '\nuse: [a]\n',
  'self.yaml': 'use: self.yaml\n',
  'a.yaml': 'use: b.yaml\n',
  'b.yaml': 'use: ./sub/c.yaml\n',
  'sub/c.yaml': '# comes back\nuse: ../a.yaml\n',
  'empty.yaml': '',
  'large.yaml': '#'.repeat(MAX_DOCUMENT_BYTES + 1),
  'half.yaml': 'name: a\noperations: {\n',
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-providers-'));
  await mkdir(at('sub/deeper'), { recursive: true });
  for (const [name, text] of Object.entries(FILES)) await writeFile(at(name), text);
  await writeFile(at('chain-0.yaml'), LEAST);
  for (let index = 1; index <= 11; index += 1) await writeFile(at(`chain-${index}.yaml`), `use: chain-${index - 1}.yaml\n`);
  await symlink(at('a.yaml'), at('link.yaml'));
  await writeFile(at('sub/through-link.yaml'), 'use: ../link.yaml\n');
});
afterAll(() => rm(folder, { recursive: true }));

const failure = (ref: string): Promise<unknown> =>
  loadProvider(ref)
    .then(compileProvider)
    .catch((error: unknown) => error);

describe('the search for a definition', () => {
  test('a name is found among the definitions of the package', async () => {
    expect(compileProvider(await loadProvider('millrace'))).toMatchObject({ name: 'millrace', client: 'built-in' });
  });

  test('a path starts at the working directory, or at the folder of the file that names it', async () => {
    expect(await loadProvider(relative(process.cwd(), at('base.yaml')))).toMatchObject({ value: { name: 'base' } });
    expect(await loadProvider('./base.yaml', { from: at('nightly.yaml') })).toMatchObject({ file: at('base.yaml') });
    expect(await loadProvider('base.yaml', { from: at('nightly.yaml') })).toMatchObject({ file: at('base.yaml') });
  });

  test('a missing definition is named, with the nearest name and the place that asks', async () => {
    await expect(loadProvider('milrace', { from: 'nightly.yaml', place: 'nightly.yaml, line 3' })).rejects.toMatchObject({
      code: 'provider_not_found',
      exitCode: 78,
      message: expect.stringMatching(/^There is no provider definition "milrace", .*; did you mean millrace\? \(nightly\.yaml, line 3\)$/),
    });
    expect(await failure(at('lost.yaml'))).toMatchObject({
      message: `There is no provider definition "./nowhere.yaml" (${at('lost.yaml')}, line 1)`,
      hint: 'Paths start at the folder of the file that names them.',
    });
    expect(await failure(folder)).toMatchObject({ message: expect.stringContaining('is a folder, and not a provider definition') });
  });
});

describe('a definition that uses another', () => {
  test('replaces its keys, merges mappings, takes keys away by null, and keeps its paths', async () => {
    const { file, name, timeoutMs, quota, tls, concurrency } = compileProvider(await loadProvider(at('sub/deeper/mine.json')));
    expect({ file, name, timeoutMs, concurrency }).toEqual({
      file: at('sub/deeper/mine.json'),
      name: 'mine',
      timeoutMs: 5000,
      concurrency: 3,
    });
    expect(quota.plans).toEqual({ free: [{ limit: 2, periodMs: 1000 }] });
    const deeper = dirname(at('sub/deeper/x'));
    expect(tls).toEqual({ caFile: at('sub/ca.pem'), certFile: join(deeper, 'c.pem'), keyFile: join(deeper, 'k.pem') });
  });

  test('has errors that name the file in which the key stands', async () => {
    expect(await failure(at('inherits-wrong.yaml'))).toMatchObject({
      message: expect.stringMatching(
        /^operations\.enrich\.keys\[0\] must be .*, got "emial"; did you mean email\? \(.*sub\/wrong\.yaml, line 5\)$/,
      ),
    });
  });

  test('in a circle is refused, and the circle is shown', async () => {
    const circle = [at('b.yaml'), at('sub/c.yaml'), at('a.yaml')];
    expect(await failure(at('self.yaml'))).toMatchObject({
      code: 'provider_use',
      exitCode: 78,
      message: `use goes in a circle: ${at('self.yaml')} > ${at('self.yaml')} (${at('self.yaml')}, line 1)`,
    });
    expect(await failure(at('a.yaml'))).toMatchObject({
      message: `use goes in a circle: ${[at('a.yaml'), ...circle].join(' > ')} (${at('sub/c.yaml')}, line 2)`,
    });
    expect(await failure(at('sub/through-link.yaml'))).toMatchObject({
      message: expect.stringContaining(['use goes in a circle:', [at('a.yaml'), ...circle].join(' > ')].join(' ')),
    });
  });

  test('in a long row is refused', async () => {
    expect(await failure(at('chain-9.yaml'))).toMatchObject({ name: 'chain-9' });
    expect(await failure(at('chain-10.yaml'))).toMatchObject({
      code: 'provider_use',
      message: expect.stringContaining('used by 10 definitions in a row'),
    });
  });
});

test.each([
  ['odd.yaml', 'bad_value', /^use must be the name of a definition, or a path, got \["a"\] \(.*odd\.yaml, line 2\)$/],
  ['empty.yaml', 'missing_key', /^operations is missing/],
  ['large.yaml', 'provider_too_large', /larger than 1 MiB: that is no provider definition$/],
  ['half.yaml', 'provider_syntax', /half\.yaml, line \d: /],
])('the file %s is refused with the code %s', async (name, code, message) => {
  expect(await failure(at(name))).toMatchObject({ code, exitCode: 78, message: expect.stringMatching(message) });
});
