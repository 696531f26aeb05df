/** Each put is atomic and durable through kills, truncated files, a full disk and concurrent writers. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import * as fc from '../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EXIT, MillraceError } from '../../src/util/errors.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type * as schema from '../../src/ledger/schema.ts';
import { seeded } from '../support/leads.ts';
import { casesOf } from '../support/sample.ts';
import { countFound, groupSize, makeGroup, countCompleteGroups } from './groups.ts';

/** The connection of the ledger opened last. A limit on its pages simulates a full disk. */
const opened = vi.hoisted((): { db: DatabaseSync | null } => ({ db: null }));
vi.mock('../../src/ledger/schema.ts', async (original) => {
  const real = await original<typeof schema>();
  return {
    ...real,
    prepareLedger: (db: DatabaseSync): void => {
      opened.db = db;
      real.prepareLedger(db);
    },
  };
});

const CHILD = fileURLToPath(new URL('writing-child.ts', import.meta.url));
let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  path = join(folder, 'out.csv.ledger');
});
afterEach(() => rmSync(folder, { recursive: true }));

function open(file = path, run = 'run-1'): { ledger: Ledger; scope: number } {
  const ledger = Ledger.open({ path: file, job: 'nightly', run, maxAgeDays: 1, now: Date.now });
  return { ledger, scope: ledger.scope('https://api.example', 'enrich', 'by email') };
}

interface Writer {
  readonly child: ChildProcess;
  /** How many groups the child has reported as durable. */
  reported(): number;
  /** Resolves with the child's next report. */
  next(): Promise<unknown>;
  readonly ended: Promise<unknown>;
}

function startWriter(run: string, prefix: string, from: number, to: number): Writer {
  const child = spawn(process.execPath, [CHILD, path, run, prefix, String(from), String(to)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return {
    child,
    reported: () => Number(output.split('\n').at(-2) ?? from),
    next: () => once(child.stdout, 'data'),
    ended: once(child, 'close'),
  };
}

it('after a SIGKILL at a random moment, every put that was reported durable is there, and no put is there in part', async () => {
  const random = seeded(11);
  let from = 0;
  for (let kill = 0; kill < 8; kill++) {
    const writer = startWriter('run-1', 'g', from, 1_000_000);
    await writer.next();
    for (let more = Math.floor(random() * 8); more > 0; more--) await writer.next();
    // The kill hits a random moment of the child's next writes.
    const until = performance.now() + random() * 3;
    while (performance.now() < until);
    writer.child.kill('SIGKILL');
    await writer.ended;
    const { ledger, scope } = open();
    const whole = countCompleteGroups(ledger, scope, writer.reported() + 200);
    ledger.close();
    expect(whole, `kill ${kill}`).toBeGreaterThanOrEqual(writer.reported());
    expect(writer.reported(), `kill ${kill}`).toBeGreaterThan(from);
    from = whole;
  }
});

it('two processes that create and write one ledger at the same time lose nothing', async () => {
  const GROUPS = 60;
  const writers = ['a', 'b'].map((prefix) => startWriter(`run-${prefix}`, prefix, 0, GROUPS));
  await Promise.all(writers.map((writer) => writer.ended));
  expect(writers.map(({ child }) => child.exitCode)).toEqual([0, 0]);
  const { ledger, scope } = open();
  for (const prefix of ['a', 'b']) expect(countCompleteGroups(ledger, scope, GROUPS, prefix)).toBe(GROUPS);
  ledger.close();
  for (const name of ['a', 'b']) {
    const again = Ledger.open({ path, job: 'nightly', run: `run-${name}`, maxAgeDays: 1, now: Date.now });
    expect(again.totals().lookups).toBe(Array.from({ length: GROUPS }, (_, group) => groupSize(group)).reduce((sum, size) => sum + size));
    again.close();
  }
});

it('when one of two writing processes is killed, the other loses nothing, and the puts that the first reported are there', async () => {
  const GROUPS = 60;
  const [killed, other] = [startWriter('run-a', 'a', 0, 1_000_000), startWriter('run-b', 'b', 0, GROUPS)];
  for (let i = 0; i < 3; i++) await killed.next();
  killed.child.kill('SIGKILL');
  await Promise.all([killed.ended, other.ended]);
  expect(other.child.exitCode).toBe(0);
  const { ledger, scope } = open();
  expect(countCompleteGroups(ledger, scope, GROUPS, 'b')).toBe(GROUPS);
  expect(countCompleteGroups(ledger, scope, killed.reported() + 200, 'a')).toBeGreaterThanOrEqual(killed.reported());
  expect(killed.reported()).toBeGreaterThan(0);
  ledger.close();
});

describe('recovery from the write-ahead log', () => {
  const GROUPS = 24;

  /** A ledger as a power cut leaves it: all groups are in the log, each in its own transaction. */
  function crashed(): { log: Buffer; copy: (name: string, log: Buffer) => string } {
    const { ledger, scope } = open();
    for (let group = 0; group < GROUPS; group++) {
      ledger.put(makeGroup(scope, group));
      ledger.flush();
    }
    const base = readFileSync(path);
    const log = readFileSync(`${path}-wal`);
    ledger.close();
    return {
      log,
      copy: (name, text) => {
        const file = join(folder, name);
        writeFileSync(file, base);
        writeFileSync(`${file}-wal`, text);
        return file;
      },
    };
  }

  it('a log cut at any byte keeps every complete put before the cut, and the ledger takes new puts', () => {
    const { log, copy } = crashed();
    const random = seeded(5);
    let previous = -1;
    const cuts = Array.from({ length: 25 }, () => Math.floor(random() * log.length)).sort((a, b) => a - b);
    for (const [i, cut] of [...cuts, log.length].entries()) {
      const { ledger, scope } = open(copy(`cut-${i}`, log.subarray(0, cut)));
      const whole = countCompleteGroups(ledger, scope, GROUPS);
      expect(whole, `cut at ${cut}`).toBeGreaterThanOrEqual(previous);
      previous = whole;
      ledger.put(makeGroup(scope, GROUPS));
      ledger.close();
      const again = open(join(folder, `cut-${i}`));
      expect(countFound(again.ledger, again.scope, GROUPS)).toBe(groupSize(GROUPS));
      again.ledger.close();
    }
    expect(previous).toBe(GROUPS);
  });

  it('a log cut at or near the end of a frame, or followed by random bytes, loses no complete put before its end', () => {
    const { log, copy } = crashed();
    // sqlite.org/fileformat.html, 4.1: a header of 32 bytes, then frames of a 24-byte header and a page.
    const ends = Array.from({ length: Math.floor((log.length - 32) / (24 + 16_384)) + 1 }, (_, i) => 32 + i * (24 + 16_384));
    const cuts = [0, 1, 3, 4, 16, 31, ...ends.filter((_, i) => i % 12 === 0).flatMap((end) => [end - 1, end, end + 1, end + 24])].filter(
      (cut) => cut <= log.length,
    );
    let previous = 0;
    for (const cut of [...new Set(cuts)].sort((a, b) => a - b)) {
      const { ledger, scope } = open(copy(`at-${cut}`, log.subarray(0, cut)));
      const whole = countCompleteGroups(ledger, scope, GROUPS);
      expect(whole, `cut at ${cut}`).toBeGreaterThanOrEqual(previous);
      previous = whole;
      ledger.close();
      for (const name of ['', '-wal', '-shm']) rmSync(join(folder, `at-${cut}${name}`), { force: true });
    }
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40_000, size: 'max' }), (garbage) => {
        const { ledger, scope } = open(copy('behind', Buffer.concat([log, garbage])));
        expect(countCompleteGroups(ledger, scope, GROUPS)).toBe(GROUPS);
        ledger.close();
        // SQLite ignores bytes behind the end of the database file, too.
        appendFileSync(join(folder, 'behind'), garbage);
        const again = open(join(folder, 'behind'));
        expect(countCompleteGroups(again.ledger, again.scope, GROUPS)).toBe(GROUPS);
        again.ledger.close();
      }),
      { numRuns: 5 },
    );
  });

  it('a complete log restores every put of a file that was cut during a checkpoint of the log', () => {
    const { log, copy } = crashed();
    // SQLite empties the log only once the file is complete, so a power cut leaves both.
    const done = copy('done', log);
    open(done).ledger.close();
    const file = readFileSync(done);
    fc.assert(
      fc.property(fc.nat(file.length), (cut) => {
        const torn = copy('torn', log);
        const base = readFileSync(torn);
        writeFileSync(torn, Buffer.concat([file.subarray(0, cut), base.subarray(cut)]));
        const { ledger, scope } = open(torn);
        expect(countCompleteGroups(ledger, scope, GROUPS)).toBe(GROUPS);
        ledger.close();
      }),
      { numRuns: casesOf(6, 20) },
    );
  });

  it('a truncated file without its log is refused as damaged, or returns only answers that were put', () => {
    const { log, copy } = crashed();
    const done = copy('done', log);
    open(done).ledger.close();
    const file = readFileSync(done);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: file.length - 1 }), (cut) => {
        const path = join(folder, 'cut');
        writeFileSync(path, file.subarray(0, cut));
        try {
          const { ledger, scope } = open(path);
          try {
            for (let group = 0; group < GROUPS; group++) countFound(ledger, scope, group);
          } finally {
            ledger.close();
          }
        } catch (error) {
          expect(error).toMatchObject({ exitCode: 78, code: 'ledger_unreadable' });
        } finally {
          for (const name of ['', '-wal', '-shm']) rmSync(`${path}${name}`, { force: true });
        }
      }),
      { numRuns: casesOf(12, 40) },
    );
  });

  it('a log overwritten with random bytes keeps the complete puts before them, and returns no damaged one', () => {
    const { log, copy } = crashed();
    const random = seeded(6);
    for (let i = 0; i < 12; i++) {
      const damaged = Buffer.from(log);
      const from = Math.floor(random() * log.length);
      for (let at = from; at < Math.min(log.length, from + 64 * 1024); at++) damaged[at] = Math.floor(random() * 256);
      const { ledger, scope } = open(copy(`damaged-${i}`, damaged));
      expect(countCompleteGroups(ledger, scope, GROUPS), `from ${from}`).toBeLessThan(GROUPS);
      ledger.close();
    }
  });
});

describe('on a full disk', () => {
  /** The connection of the ledger opened last, and a limit on the pages of its file. */
  function disk(): { readonly db: DatabaseSync; readonly limitPages: (pages: number) => unknown } {
    const { db } = opened;
    if (db === null) throw new Error('no ledger was opened');
    return { db, limitPages: (pages) => db.prepare(`PRAGMA max_page_count = ${pages}`).get() };
  }
  const NO_LIMIT = 1_000_000;

  it('a flush fails with 74, lookups still find the unwritten answers, and a later flush writes them', () => {
    const { ledger, scope } = open();
    const { limitPages } = disk();
    const groups = 12;
    ledger.put(makeGroup(scope, 0));
    ledger.flush();
    limitPages(1);
    for (let group = 1; group < groups; group++) ledger.put(makeGroup(scope, group));
    for (let time = 0; time < 3; time++) {
      expect(() => ledger.flush()).toThrow(
        expect.objectContaining({
          exitCode: 74,
          code: 'ledger_failed',
          message: expect.stringContaining(path),
          hint: expect.stringContaining('Free some space'),
        }),
      );
      expect(countCompleteGroups(ledger, scope, groups)).toBe(groups);
    }
    // The file holds the complete first put, and nothing else.
    const other = open();
    expect(countCompleteGroups(other.ledger, other.scope, groups)).toBe(1);
    other.ledger.close();
    const lookups = ledger.totals();
    limitPages(NO_LIMIT);
    ledger.flush();
    expect(ledger.totals()).toEqual(lookups);
    ledger.close();
    const again = open();
    expect(countCompleteGroups(again.ledger, again.scope, groups)).toBe(groups);
    expect(again.ledger.totals()).toEqual(lookups);
    again.ledger.close();
  });

  it('a put that is large enough to flush at once fails with 74, and a later flush writes all of it', () => {
    const { ledger, scope } = open();
    const { limitPages } = disk();
    limitPages(1);
    const entries = Array.from({ length: 5_000 }, (_, i) => ({
      scope,
      key: `k${i}`,
      answer: { kind: 'hit' as const, text: `"${'x'.repeat(200)}"` },
    }));
    expect(() => ledger.put(entries)).toThrow(expect.objectContaining({ exitCode: 74 }));
    limitPages(NO_LIMIT);
    expect(entries.filter(({ key }) => ledger.get(scope, key) === null)).toEqual([]);
    ledger.close();
    const again = open();
    expect(entries.filter(({ key }) => again.ledger.get(scope, key) === null)).toEqual([]);
    again.ledger.close();
  });

  it('close fails with 74, and closes the file all the same', () => {
    const { ledger, scope } = open();
    const { db, limitPages } = disk();
    limitPages(1);
    ledger.put(Array.from({ length: 30 }, (_, group) => makeGroup(scope, group)).flat());
    expect(() => ledger.close()).toThrow(expect.objectContaining({ exitCode: 74 }));
    expect(db.isOpen).toBe(false);
  });
});

describe('the ledger of a run', () => {
  const lost = new MillraceError(EXIT.stopped, 'job_lost', 'lost');
  const start = (mayWrite: () => void): Ledger =>
    Ledger.open({ path, job: 'nightly', run: 'run-1', maxAgeDays: 1, now: Date.now, mayWrite });

  it('a run that has lost its job lock writes no answer, no run and no scope', () => {
    let holdsLock = true;
    const mayWrite = (): void => {
      if (!holdsLock) throw lost;
    };
    const ledger = start(mayWrite);
    const scope = ledger.scope('https://api.example', 'enrich', 'by email');
    ledger.put(makeGroup(scope, 0));
    ledger.flush();
    ledger.put(makeGroup(scope, 1));
    holdsLock = false;
    expect(() => ledger.flush()).toThrow(lost);
    expect(() => ledger.scope('https://other.example', 'enrich', 'by email')).toThrow(lost);
    expect(() => ledger.close()).toThrow(lost);
    expect(() => start(mayWrite)).toThrow(lost);
    const heir = open();
    expect(countCompleteGroups(heir.ledger, heir.scope, 2)).toBe(1);
    heir.ledger.close();
  });

  it('the ledger checks the job lock inside its write transaction, so that no other process writes in between', () => {
    const ledger = start(() => {
      const other = new DatabaseSync(path);
      other.exec('PRAGMA busy_timeout = 0');
      expect(() => other.exec('BEGIN IMMEDIATE')).toThrow('locked');
      other.close();
    });
    ledger.put(makeGroup(ledger.scope('https://api.example', 'enrich', 'by email'), 0));
    ledger.close();
    expect.assertions(3);
  });
});
