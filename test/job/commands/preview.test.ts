import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import * as fc from '../../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { previewRows } from '../../../src/job/commands/preview.ts';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'preview-'));
});
afterEach(() => rm(folder, { recursive: true }));

function jobOf(format: string, columns: CompiledJob['input']['columns'] = {}): CompiledJob {
  return { input: { columns }, output: { format } } as unknown as CompiledJob;
}

async function preview(name: string, text: string | Buffer, columns: CompiledJob['input']['columns'] = {}, room = 118): Promise<string[]> {
  await writeFile(join(folder, name), text);
  return previewRows(join(folder, name), jobOf(name.split('.')[1] ?? '', columns), room);
}

const HEADER = 'id,Work Email,result.outcome,enrich.name,enrich.title,verify.result';

describe('the preview', () => {
  it('shows a table of the key column and the found columns', async () => {
    const rows = [HEADER, ...Array.from({ length: 8 }, (_, i) => `${i},ana${i}@works.example,matched,Ana,"Head of, things",risky`)];
    const found = (i: number): string => `ana${i}@works.example  matched         Ana          Head of, things  risky`;
    expect(await preview('out.csv', `${rows.join('\n')}\n`)).toEqual([
      'Work Email          result.outcome  enrich.name  enrich.title     verify.result',
      ...[0, 1, 2, 3, 4].map(found),
    ]);
  });

  it('aligns its columns whatever the cells contain, and no column is wider than 26', async () => {
    const cell = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.constantFrom('東京都港区六本木一丁目二番三号森タワー', 'two\nlines', '\ttab', ''),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 5 }), async (rows) => {
        const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
        const [head, ...shown] = await preview(
          'out.csv',
          `email,result.outcome,enrich.name\n${rows.map(([name, title]) => `a@b.example,${quoted(name)},${quoted(title)}\n`).join('')}`,
        );
        expect(shown).toHaveLength(rows.length);
        expect(head).toMatch(/^email +result\.outcome +enrich\.name$/);
        for (const line of shown) {
          expect(line).toMatch(/^a@b\.example/);
          expect(line).not.toMatch(/\n|\t/);
          expect(line.length).toBeLessThanOrEqual(11 + 2 + 26 + 2 + 26);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('counts two columns for each wide character', async () => {
    const lines = await preview('out.csv', 'email,result.outcome,enrich.name\na@b.example,東京,x\nb@b.example,matched,y\n');
    expect(lines.slice(1)).toEqual(['a@b.example  東京            x', 'b@b.example  matched         y']);
  });

  it('begins with the configured key column', async () => {
    expect(await preview('out.csv', 'id,Whom,result.outcome\n1,a@b.example,matched\n', { email: 'Whom' })).toEqual([
      'Whom         result.outcome',
      'a@b.example  matched',
    ]);
    expect(await preview('out.tsv', 'id\tWhere\tresult.outcome\n1\tb.example\tno_match\n', { domain: 'Where' })).toEqual([
      'Where      result.outcome',
      'b.example  no_match',
    ]);
  });

  it('shows JSONL lines, cut to the width of the screen', async () => {
    const lines = await preview(
      'out.jsonl',
      `${JSON.stringify({ input: { email: 'a' } })}\n${JSON.stringify({ input: 'x'.repeat(500) })}\n`,
    );
    expect(lines[0]).toBe('{"input":{"email":"a"}}');
    expect(lines[1]).toMatch(/^\{"input":"x+…$/);
    expect(lines[1]).toHaveLength(118);
  });

  it('reads a compressed output', async () => {
    expect(await preview('out.csv.zst', zstdCompressSync('email,result.outcome\na@b.example,matched\n'))).toEqual([
      'email        result.outcome',
      'a@b.example  matched',
    ]);
  });

  it('shows control characters of the data as text', async () => {
    const hostile = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u007f';
    for (const lines of [
      await preview('out.csv', `email,enrich.name\na@b.example,${hostile}\n`),
      await preview('out.jsonl', `{"input":"\u009b31m\u007f"}\n`),
    ]) {
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    }
  });

  it('has no text when the output has no rows', async () => {
    expect(await previewRows(join(folder, 'nothing.csv'), jobOf('csv'), 100)).toEqual([]);
    expect(await preview('empty.csv', '')).toEqual([]);
    expect(await preview('noise.csv', Buffer.from([0, 1, 2, 0, 255, 254, 0]))).toEqual([]);
  });
});
