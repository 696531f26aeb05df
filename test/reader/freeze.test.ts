import { chmod, readFile, rename, rm, symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/util/errors.ts';
import { compareManifests, describeChange, type FreezeOptions } from '../../src/reader/freeze.ts';
import { freeze, put, readAll, scratchFolder, utf16 } from '../formats/helpers.ts';

const folder = scratchFolder();
const ROW = 'email\na@x.example\n';

async function failure(uris: string | readonly string[], overrides: Partial<FreezeOptions> = {}): Promise<InputError> {
  const error: unknown = await freeze(uris, overrides).catch((caught: unknown) => caught);
  if (!(error instanceof InputError)) throw new Error(`expected an InputError, got ${String(error)}`);
  expect(error.exitCode).toBe(65);
  return error;
}

describe('finding files', () => {
  it('takes a directory’s data files by name, without subfolders and the job’s own files', async () => {
    for (const name of ['b.csv', 'a.csv.gz', 'own.csv', 'readme.md', 'deep/c.csv'])
      await put(folder, `dir/${name}`, name.endsWith('.gz') ? gzipSync(ROW) : ROW);
    const own = join(folder, 'dir/own.csv');
    const manifest = await freeze(join(folder, 'dir'), { isOwn: (path) => path === own });
    expect(manifest.files.map(({ path }) => path)).toEqual([join(folder, 'dir/a.csv.gz'), join(folder, 'dir/b.csv')]);
  });

  it('takes a glob’s matches in order, a list in its own order, and each file once', async () => {
    for (const name of ['2.csv', '10.csv', '1.csv', 'out.csv']) await put(folder, `glob/${name}`, ROW);
    const out = join(folder, 'glob/out.csv');
    const manifest = await freeze([join(folder, 'glob/2.csv'), join(folder, 'glob/*.csv')], { isOwn: (path) => path === out });
    expect(manifest.files.map(({ uri }) => uri.slice(folder.length))).toEqual(['/glob/2.csv', '/glob/1.csv', '/glob/10.csv']);
    expect(manifest.files.map(({ start }) => start.file)).toEqual([0, 1, 2]);
  });

  it('passes over hidden files and the folders of unfinished writes, which are taken where they are named', async () => {
    for (const name of ['a.csv', '.b.csv', '_temporary/0/c.csv', 'deep/.d.csv', '.git/e.csv', 'deep/f.csv'])
      await put(folder, `hidden/${name}`, ROW);
    const found = async (uri: string): Promise<string[]> =>
      (await freeze(join(folder, 'hidden', uri))).files.map(({ uri: name }) => name.slice(folder.length + '/hidden/'.length));
    expect(await found('')).toEqual(['a.csv']);
    expect(await found('**/*.csv')).toEqual(['a.csv', 'deep/f.csv']);
    expect(await found('_temporary/**/*.csv')).toEqual(['_temporary/0/c.csv']);
    expect(await found('.b.csv')).toEqual(['.b.csv']);
  });

  it('fails when a match of a glob cannot be inspected', async () => {
    await put(folder, 'partly/1.csv', ROW);
    await symlink('2.csv', join(folder, 'partly/2.csv'));
    await symlink('gone.csv', join(folder, 'partly/3.csv'));
    await expect(freeze([join(folder, 'partly/*.csv')])).rejects.toMatchObject({
      code: 'input_unreadable',
      message: expect.stringContaining('partly/2.csv'),
    });
    // A match that vanished does not count.
    await rm(join(folder, 'partly/2.csv'));
    expect((await freeze([join(folder, 'partly/*.csv')])).files).toHaveLength(1);
  });

  it('fails when a glob passes a folder that may not be listed', async () => {
    const isRoot = process.getuid?.() === 0;
    for (const name of ['open/1.csv', 'shut/2.csv', 'aside.csv', 'open/deep/3.csv']) await put(folder, `by/${name}`, ROW);
    const find = (glob: string): Promise<number | string> =>
      freeze([join(folder, glob)]).then(
        ({ files }) => files.length,
        (error: { code: string; message: string }) => `${error.code} ${error.message}`,
      );
    // Whatever the umask is.
    for (const name of ['', 'by', 'by/open', 'by/open/deep']) await chmod(join(folder, name), 0o755);
    for (const name of ['open/1.csv', 'aside.csv', 'open/deep/3.csv']) await chmod(join(folder, 'by', name), 0o644);
    await chmod(join(folder, 'by/shut'), 0o000);
    // The superuser may list any folder.
    if (isRoot) process.seteuid?.(65_534);
    const found = [];
    try {
      for (const glob of [
        'by/*/*.csv',
        'by/**/*.csv',
        'by/shut/*.csv',
        'by/{open,shut}/*.csv',
        'by/*.csv',
        'by/open/**/*.csv',
        'by/{open/1,aside}.csv',
      ])
        found.push(await find(glob));
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
    const refused = expect.stringMatching(/^input_unreadable .*by\/shut/) as string;
    expect(found).toEqual([refused, refused, refused, refused, 1, 2, 2]);
  });

  it('prefers a file whose name looks like a glob', async () => {
    const path = await put(folder, 'odd/[1].csv', ROW);
    expect((await freeze(path)).files.length).toBe(1);
  });

  it('names missing input, or succeeds with no records', async () => {
    for (const uri of [join(folder, 'nowhere.csv'), join(folder, 'nowhere/*.csv'), join(folder, 'dir/deep/*.tsv')]) {
      expect(await failure(uri)).toMatchObject({ code: 'input_missing', message: expect.stringContaining(uri) as string });
      expect(await freeze(uri, { ifMissing: 'succeed' })).toMatchObject({ files: [], columns: [] });
    }
  });

  it('reports input that may not be read', async () => {
    const path = await put(folder, 'secret.csv', ROW);
    await chmod(path, 0o000);
    // The superuser may read it all the same.
    if (process.getuid?.() !== 0) expect((await failure(path)).code).toBe('input_unreadable');
    await symlink('/dev/null', join(folder, 'device.csv'));
    expect(await failure(join(folder, 'device.csv'))).toMatchObject({ code: 'input_unreadable' });
  });

  it('spools standard input into a file that only its owner may read', async () => {
    const spoolPath = join(folder, 'spool/stdin');
    const manifest = await freeze('-', { spoolPath, stdin: Readable.from([Buffer.from('email\na@x'), Buffer.from('.example\n')]) });
    expect(manifest.files[0]).toMatchObject({ uri: '-', path: spoolPath, size: 18 });
    expect(await readFile(spoolPath, 'utf8')).toBe(ROW);
    expect((await readAll(manifest)).map(({ email }) => email)).toEqual(['a@x.example']);
  });
});

describe('the format of a file', () => {
  it.each([
    ['no extension, csv', 'data', 'email;n\na@x.example;1\n', 'csv', ';'],
    ['no extension, tsv', 'data', 'email\tn\na@x.example\t1\n', 'tsv', '\t'],
    ['no extension, jsonl', 'data', '\n {"email":"a@x.example"}\n', 'jsonl', null],
    ['.ndjson', 'data.ndjson', '{"email":"a@x.example"}\n', 'jsonl', null],
    ['as often one as another: the one that leaves a known name', 'tie.csv', 'Email;N,M\na@x.example;1,2\n', 'csv', ';'],
    ['the same, with that name in quotes', 'tied.csv', 'N;M,"Work Email"\n1;2,a@x.example\n', 'csv', ','],
    ['delimiters within quotes do not count', 'q.csv', '"a;b;c;d",email\n1,a@x.example\n', 'csv', ','],
  ])('%s', async (name, file, content, format, delimiter) => {
    const path = await put(folder, `kind/${name}/${file}`, content);
    const manifest = await freeze(path);
    expect(manifest.format).toBe(format);
    expect(manifest.files[0]?.delimiter).toBe(delimiter);
    expect((await readAll(manifest)).length).toBe(1);
  });

  it('gives the configured format and delimiter precedence', async () => {
    const path = await put(folder, 'wins.txt', 'email|n;m\na@x.example|1;2\n');
    const manifest = await freeze(path, { format: 'csv', delimiter: '|' });
    expect(manifest.columns).toEqual(['email', 'n;m']);
    for (const delimiter of ['', '::', '"', '\n', 'é']) expect((await failure(path, { delimiter })).code).toBe('input_delimiter');
  });

  it('recognises an archive by its first bytes, and reports a misleading name', async () => {
    const unnamed = await freeze(await put(folder, 'unnamed.csv', gzipSync(ROW)));
    expect(unnamed.files[0]?.compression).toBe('gzip');
    const wrong = await freeze(await put(folder, 'wrong.csv.gz', zstdCompressSync(ROW)));
    expect(wrong.files[0]?.compression).toBe('zstd');
    expect(await failure(await put(folder, 'lies.csv.gz', ROW))).toMatchObject({
      code: 'input_compression',
      message: expect.stringContaining('no gzip') as string,
    });
    expect((await freeze(await put(folder, 'nothing.csv.gz', ''))).columns).toEqual([]);
  });

  it('reads UTF-16 without a mark when configured, and suggests it otherwise', async () => {
    for (const order of ['le', 'be'] as const) {
      const path = await put(folder, `bare-${order}.csv`, utf16(ROW, order).subarray(2));
      expect(await failure(path)).toMatchObject({ code: 'input_encoding', hint: expect.stringContaining('utf-16') as string });
      const manifest = await freeze(path, { encoding: 'utf-16' });
      expect(manifest.files[0]?.encoding).toBe(`utf-16${order}`);
      expect((await readAll(manifest)).map(({ email }) => email)).toEqual(['a@x.example']);
    }
  });

  it.each([
    ['a NUL in the header', Buffer.from('em\0ail\na\n'), 'input_binary'],
    ['many control characters', Buffer.concat([Buffer.from('email\n'), Buffer.alloc(100, 1)]), 'input_binary'],
    ['a PDF', Buffer.from('%PDF-1.7\n'), 'input_binary'],
    ['a JSON array', Buffer.from('[\n {"email": "a@x.example"}]'), 'input_json_array'],
    ['an archive in an archive', gzipSync(gzipSync(ROW)), 'input_binary'],
    ['an archive cut off in its header', gzipSync(ROW).subarray(0, 9), 'input_truncated'],
    ['a header that does not end', Buffer.from('"email\na@x.example\n'), 'input_header'],
    ['more columns than any file has', Buffer.from(`email${',x'.repeat(1_000_000)}\n`), 'input_too_many_columns'],
  ])('refuses %s', async (name, content, wanted) => {
    expect((await failure(await put(folder, `refused/${name}`, content))).code).toBe(wanted);
  });

  it('reads one damaged place as a bad row, not as another encoding', async () => {
    const path = await put(
      folder,
      'stray.csv',
      Buffer.concat([Buffer.from('email,n\na@x.example,Zoë\n'), Buffer.from([0x62, 0xe9, 0x0a])]),
    );
    expect((await readAll(await freeze(path))).map(({ bad }) => bad)).toEqual([null, 'not valid utf-8']);
  });

  it('accepts a character that the end of the sample cuts', async () => {
    const path = await put(folder, 'edge.csv', `email\n${'x'.repeat(256 * 1024 - 8)}\né\n`);
    await expect(freeze(path)).resolves.toMatchObject({ format: 'csv' });
  });
});

describe('columns', () => {
  it('gives blank header cells names that no real column has', async () => {
    const manifest = await freeze(await put(folder, 'blank.csv', 'email,,column_2, \na@x.example,1,2,3\n'));
    expect(manifest.columns).toEqual(['email', 'column_2_', 'column_2', 'column_4']);
  });

  it('refuses duplicates, reserved names and files without a key, naming them', async () => {
    expect(await failure(await put(folder, 'dup.csv', 'email,b,b,c,c\n'))).toMatchObject({
      code: 'input_duplicate_columns',
      message: expect.stringContaining('"b", "c"') as string,
    });
    expect(await failure(await put(folder, 'res.csv', 'email,enrich.title\n'), { reservedColumns: ['enrich.title'] })).toMatchObject({
      code: 'input_reserved_column',
    });
    expect(
      await failure(await put(folder, 'res.jsonl', '{"email":"a","enrich.title":1}\n'), {
        reservedColumns: ['enrich.title'],
        needColumns: true,
      }),
    ).toMatchObject({ code: 'input_reserved_column' });
    const many = Array.from({ length: 50 }, (_, index) => `c${index}`).join(',');
    const error = await failure(await put(folder, 'none.csv', `${many}\n1\n`));
    expect(error).toMatchObject({
      code: 'input_no_columns',
      hint: expect.stringMatching(/--input\.columns\.email .*above the header/) as string,
    });
    expect(error.message).toContain('"c19" and 30 more; none is an email');
    expect(await failure(await put(folder, 'none.jsonl', '{"name":"x"}\n'))).toMatchObject({
      code: 'input_no_columns',
      hint: expect.not.stringContaining('header') as string,
    });
  });

  it('takes configured names, and lists the columns when one is missing', async () => {
    const path = await put(folder, 'mapped.csv', 'email,Primary,Web\na@x.example,b@x.example,y.example\n');
    const manifest = await freeze(path, { columns: { email: 'Primary' } });
    expect((await readAll(manifest)).map(({ email, domain }) => [email, domain])).toEqual([['b@x.example', 'y.example']]);
    expect(await failure(path, { columns: { email: 'Secondary' } })).toMatchObject({
      code: 'input_no_columns',
      message: expect.stringContaining('"Secondary" (input.columns.email). Found columns: "email", "Primary", "Web"') as string,
    });
  });

  it('a header without a usable column is refused, with or without records', async () => {
    expect((await failure(await put(folder, 'no-key-no-rows.csv', 'name,city\n'))).code).toBe('input_no_columns');
    expect((await freeze(await put(folder, 'blank.jsonl', '\n\n'))).keyName.email).toBeNull();
    expect((await failure(await put(folder, 'only-bad.jsonl', 'x\n'))).code).toBe('input_no_columns');
  });

  it('finds the keys of each file by its own header', async () => {
    const crm = await put(folder, 'own/crm.csv', 'Email,Company\na@x.example,X\n');
    const event = await put(folder, 'own/event.csv', 'Company,Work E-Mail,Website\nY,b@y.example,y.example\n');
    const manifest = await freeze([crm, event]);
    expect(manifest.columns).toEqual(['Email', 'Company', 'Work E-Mail', 'Website']);
    expect((await readAll(manifest)).map(({ email, domain, values }) => ({ email, domain, values }))).toEqual([
      { email: 'a@x.example', domain: '', values: ['a@x.example', 'X', '', ''] },
      { email: 'b@y.example', domain: 'y.example', values: ['', 'Y', 'b@y.example', 'y.example'] },
    ]);
  });

  it('refuses mixed formats, and a file that has no key of the others', async () => {
    const csv = await put(folder, 'mixed/a.csv', ROW);
    expect((await failure([csv, await put(folder, 'mixed/b.jsonl', '{"email":"a"}\n')])).code).toBe('input_mixed_formats');
    expect(await failure([csv, await put(folder, 'mixed/c.csv', 'name\nAna\n')])).toMatchObject({
      code: 'input_no_columns',
      message: expect.stringContaining('c.csv') as string,
    });
  });

  it('finds the keys of each jsonl file in its own first 200 objects, except in overlong ones', async () => {
    const own = await put(folder, 'own/a.jsonl', '{"email":"a@x.example","site":"a.example"}\n');
    const other = await put(
      folder,
      'own/b.jsonl',
      '{"Work Email":"b@x.example"}\n{"Work Email":"c@x.example","email":"late@x.example"}'.padEnd(300_000),
    );
    const late = await put(folder, 'own/c.jsonl', `${'{"n":1}\n'.repeat(200)}{"email":"d@x.example","E-MAIL":"e@x.example"}\n`);
    const manifest = await freeze([own, other, late]);
    expect(manifest.files.map(({ keys }) => keys.email)).toEqual(['email', 'Work Email', null]);
    expect(manifest.keyName).toMatchObject({ email: 'email', domain: 'site' });
    const plain = await freeze([own, await put(folder, 'own/d.jsonl', '{"Work Email":"b@x.example"}\n{"Work Email":"c@x.example"')]);
    expect(plain.files.map(({ keys }) => keys.email)).toEqual(['email', 'Work Email']);
    expect((await readAll(plain)).map(({ email }) => email)).toEqual(['a@x.example', 'b@x.example', '']);
    expect((await freeze([own, other], { columns: { email: 'site' } })).files.map(({ keys }) => keys.email)).toEqual(['site', null]);
  });

  it('finds jsonl keys in the first 200 objects of a file', async () => {
    const early = await put(folder, 'keys/a.jsonl', '{"n":1}\n'.repeat(150));
    const late = await put(
      folder,
      'keys/b.jsonl',
      `${'{"n":1}\n'.repeat(199)}{"E-Mail":"a@x.example"}\n{"website":"x.example","__proto__":1}\n`,
    );
    expect((await freeze([early, late])).keyName).toEqual({ email: 'E-Mail', domain: null, linkedin_url: null });
    expect((await freeze([early, late], { needColumns: true })).columns).toEqual(['n', 'E-Mail', 'website', '__proto__']);
  });
});

describe('changes', () => {
  it('notices another size, other content at either end, a missing file; not another mtime', async () => {
    const content = `email\n${'a@x.example\n'.repeat(20_000)}`;
    const path = await put(folder, 'change.csv', content);
    const manifest = await freeze(path);
    expect(await describeChange(manifest)).toBeNull();
    await utimes(path, 1, 1);
    expect(await describeChange(manifest)).toBeNull();
    expect(compareManifests(manifest, await freeze(path))).toBeNull();
    for (const changed of [`${content}b`, content.replace('a@', 'b@'), `${content.slice(0, -2)}f\n`]) {
      await put(folder, 'change.csv', changed);
      const sentence =
        changed.length === content.length ? 'same size but other content' : `had ${content.length} bytes and has ${changed.length}`;
      expect(await describeChange(manifest)).toContain(sentence);
      expect(compareManifests(manifest, await freeze(path))).toContain(sentence);
    }
    await rename(path, `${path}.old`);
    expect(await describeChange(manifest)).toBe(`${path} is no longer there.`);
  });

  it('notices added and removed files', async () => {
    const names = await Promise.all(['a', 'b', 'c'].map((name) => put(folder, `list/${name}.csv`, ROW)));
    const [a = '', b = '', c = ''] = names;
    const all = await freeze([a, b]);
    expect(compareManifests(all, await freeze([a]))).toBe(`${b} is no longer part of the input.`);
    expect(compareManifests(all, await freeze([a, b, c]))).toBe(`${c} was added to the input.`);
    expect(compareManifests(all, await freeze([c, a, b]))).toBe(`${c} was added to the input before ${a}.`);
  });

  it('survives JSON, as in the checkpoint', async () => {
    const manifest = await freeze(await put(folder, 'json.csv.gz', gzipSync(ROW)));
    expect(JSON.parse(JSON.stringify(manifest))).toEqual(manifest);
  });
});
