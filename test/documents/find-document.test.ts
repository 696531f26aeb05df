import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DocumentKind } from '../../src/documents/document-kind.ts';
import { findDocument, nameOf, namesIn } from '../../src/documents/find-document.ts';
import { MAX_DOCUMENT_BYTES, readDocument } from '../../src/documents/read-document.ts';

const kind = (advice: string | null): DocumentKind => ({
  noun: 'recipe file',
  content: 'recipe',
  codes: { syntax: 'recipe_syntax', unreadable: 'recipe_unreadable', tooLarge: 'recipe_too_large' },
  quoted: '"*"',
  adviceFor: () => advice,
});
let folder = '';
const at = (name: string): string => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-documents-'));
  await mkdir(at('first'));
  await mkdir(at('second'));
  await mkdir(at('first/folder.yaml'));
  for (const name of ['second/tea.yaml', 'second/tea.json', 'second/soup.yml', 'first/soup.json', 'plain.yaml', 'second/notes.txt'])
    await writeFile(at(name), 'a: 1');
});
afterAll(() => rm(folder, { recursive: true }));

test('a name is looked for in each folder with each extension, a path as it stands', async () => {
  const folders = [at('first'), at('second')];
  expect(await findDocument('tea', folders)).toBe(at('second/tea.yaml'));
  expect(await findDocument('tea.json', folders)).toBe(at('second/tea.json'));
  expect(await findDocument('soup', folders)).toBe(at('first/soup.json'));
  expect(await findDocument('folder', folders)).toBeNull();
  expect(await findDocument(at('plain.yaml'), folders)).toBe(at('plain.yaml'));
  expect(await findDocument(at('plain'), folders)).toBeNull();
  expect(await namesIn([...folders, at('missing')])).toEqual(['folder', 'soup', 'tea']);
  expect(nameOf('/a/tea.v2.YAML')).toBe('tea.v2');
});

test('a file that is too large, unreadable or no text is refused in the words of its kind', async () => {
  await writeFile(at('large.yaml'), '#'.repeat(MAX_DOCUMENT_BYTES + 1));
  await writeFile(at('most.yaml'), '#'.repeat(MAX_DOCUMENT_BYTES));
  await writeFile(at('latin1.yaml'), Buffer.from([0x6e, 0x3a, 0x20, 0xe9]));
  expect(await readDocument(at('most.yaml'), kind(null))).toHaveLength(MAX_DOCUMENT_BYTES);
  const large = { code: 'recipe_too_large', exitCode: 78, message: `${at('large.yaml')} is larger than 1 MiB: that is no recipe file` };
  await expect(readDocument(at('large.yaml'), kind(null))).rejects.toMatchObject({ ...large, hint: undefined });
  await expect(readDocument(at('large.yaml'), kind('Use a pot.'))).rejects.toMatchObject({ ...large, hint: 'Use a pot.' });
  await expect(readDocument(at('latin1.yaml'), kind('Use a pot.'))).rejects.toMatchObject({
    code: 'recipe_syntax',
    hint: 'A recipe file is saved as UTF-8. Use a pot.',
  });
  await expect(readDocument(at('missing.yaml'), kind(null))).rejects.toMatchObject({
    code: 'recipe_unreadable',
    message: expect.stringMatching(/^The recipe file .*missing\.yaml cannot be read: ENOENT/),
  });
});
