/** A resume reads what it needs to go on, however far it had come: counted in bytes that its process has read. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { watch, writeFile } from 'node:fs/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { seeded } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { makeWorld, type World } from '../support/world.ts';
import { SEED } from '../support/seed.ts';

const ROWS = 24_000;
const MEMBER_ROWS = 500;
/**
 * So much more may be read from late in the file than from its beginning: up to a mebibyte of it is the last block of the unfinished
 * output, which is checked. The file, and what is written of it, has ten times that.
 */
const MAY_DIFFER_BYTES = 2_300_000;

/** Rows of which the one at `place` alone has something to look up; their notes do not compress. */
function rows(place: number): string[] {
  const random = seeded(place);
  const word = (): string => random().toString(36).slice(2);
  return Array.from(
    { length: ROWS },
    (_, i) => [i === place ? 'ada@works.example' : '', Array.from({ length: 70 }, word).join(' ')] as const,
  ).map(([email, note]) => JSON.stringify({ email, note }));
}

const asCsv = (json: readonly string[]): string[] =>
  json.map((text) => Object.values(JSON.parse(text) as Record<string, string>).join(','));

function inMembers(lines: readonly string[], pack: (text: string) => Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let from = 0; from < lines.length; from += MEMBER_ROWS)
    parts.push(
      pack(
        lines
          .slice(from, from + MEMBER_ROWS)
          .map((line) => `${line}\n`)
          .join(''),
      ),
    );
  return Buffer.concat(parts);
}

const FORMATS: readonly [string, (json: readonly string[]) => Buffer][] = [
  ['in.csv', (json) => inMembers(['email,note', ...asCsv(json)], (text) => Buffer.from(text))],
  ['in.jsonl', (json) => inMembers(json, (text) => Buffer.from(text))],
  ['in.csv.gz', (json) => inMembers(['email,note', ...asCsv(json)], (text) => gzipSync(text, { level: 1 }))],
  ['in.csv.zst', (json) => inMembers(['email,note', ...asCsv(json)], (text) => zstdCompressSync(text))],
];

/** Bytes that the process had read when its first request came (proc(5), `io`, rchar: from files, whether cached or not, and sockets). */
async function readByResume(name: string, place: number, pack: (json: readonly string[]) => Buffer): Promise<number> {
  const { folder, service, args }: World = await makeWorld();
  await writeFile(folder.at(name), pack(rows(place)));
  service.script = () => undefined;
  const run = args({ input: name, steps: 'enrich', 'max-errors': '100%', 'timeout-ms': '600000' });
  const over = new AbortController();
  // Before it starts, so that no change is missed.
  const changes = watch(folder.path, { signal: over.signal })[Symbol.asyncIterator]();
  const first = folder.start(run);
  void first.ended.then(() => over.abort(new Error('it ended by itself')));
  const written = (): number => {
    const checkpoint = folder.at('out.csv.checkpoint.json');
    return existsSync(checkpoint)
      ? (JSON.parse(readFileSync(checkpoint, 'utf8')) as { mark: { tally: { total: number } } }).mark.tally.total
      : -1;
  };
  // The row at the place is never answered, so no checkpoint can say more.
  while (written() < place) await changes.next();
  await changes.return?.();
  first.kill('SIGKILL');
  await first.ended;
  const asked = service.sees(1);
  const again = folder.start(run);
  onTestFinished(() => again.kill('SIGKILL'));
  await asked;
  const read = Number(/^rchar: (\d+)/m.exec(readFileSync(`/proc/${again.child.pid}/io`, 'utf8'))?.[1]);
  expect(service.requests.at(-1)?.keys).toEqual(['ada@works.example']);
  if (place > ROWS / 2)
    for (const path of [name, 'out.csv.partial']) expect(statSync(folder.at(path)).size).toBeGreaterThan(5 * MAY_DIFFER_BYTES);
  again.kill('SIGKILL');
  await again.ended;
  return read;
}

// proc(5) is Linux's own.
test.runIf(process.platform === 'linux').each(sampleOf(FORMATS, 1))(
  `%s: a resume near the end reads as little as one near the beginning (SEED=${SEED})`,
  async (name, pack) => {
    const early = await readByResume(name, 5, pack);
    const late = await readByResume(name, ROWS - 20, pack);
    expect(late - early).toBeLessThan(MAY_DIFFER_BYTES);
  },
);
