import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import * as fc from '../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ledgerBytes } from '../../src/ledger/connection.ts';
import { Ledger, type LedgerAnswer, type LedgerOptions } from '../../src/ledger/ledger.ts';
import { purgeLedger, type PurgeFilter } from '../../src/ledger/purge.ts';
import { seeded } from '../support/leads.ts';
import { countCompleteGroups } from './groups.ts';

/** A small batch, so that the answers are spread over memory, a half-moved batch, the small index and the large one. */
const INDEX_BATCH = 12;
const NOTHING: PurgeFilter = { email: null, before: null };
let folder: string;
let path: string;
let now: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'purge-'));
  path = join(folder, 'answers.ledger');
  now = 1_700_000_000_000;
});
afterEach(() => rmSync(folder, { recursive: true }));

function open(run = 'run-1', options: Partial<LedgerOptions> = {}): { ledger: Ledger; email: number; domain: number; verify: number } {
  const ledger = Ledger.open({ path, job: 'nightly', run, maxAgeDays: 1_000, now: () => now, indexBatch: INDEX_BATCH, ...options });
  const scope = (step: string, more: string): number => ledger.scope('https://api.example', step, more);
  return { ledger, email: scope('enrich', 'by email'), domain: scope('enrich', 'by domain'), verify: scope('verify', '') };
}

/** The files of the ledger that contain the text. */
function filesWith(text: string): string[] {
  return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(text));
}

/**
 * Checks the invariants of the file: SQLite finds no damage, and the index has an entry for every answer that it covers.
 * @param swept also expect that the index has no entry of a purged answer
 */
function expectIntact(swept: boolean): void {
  const db = new DatabaseSync(path);
  try {
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    const places = '(SELECT answer FROM places UNION SELECT answer FROM new_places)';
    const { missing } = db
      .prepare(`SELECT count(*) AS missing FROM answers, placed WHERE id <= up_to AND scope <> 0 AND id NOT IN ${places}`)
      .get() as { missing: number };
    expect(missing).toBe(0);
    if (!swept) return;
    const { stale } = db
      .prepare(`SELECT count(*) AS stale FROM ${places} WHERE answer NOT IN (SELECT id FROM answers WHERE scope <> 0)`)
      .get() as { stale: number };
    expect(stale).toBe(0);
  } finally {
    db.close();
  }
}

const person = (n: number): { email: string; name: string } => ({
  email: `person${n}-${(n * 7_919) % 104_729}@works${n % 7}.example`,
  name: `Xanthippe-${n}-Quux`,
});
const answerOf = (n: number, chars = 0): LedgerAnswer => ({ kind: 'hit', text: JSON.stringify({ ...person(n), note: 'y'.repeat(chars) }) });

describe('purging a person', () => {
  it('removes every answer that mentions the person, in all steps and files, and no other answer', async () => {
    const { ledger, email, domain, verify } = open();
    for (let n = 0; n < 40; n++) {
      ledger.put([
        { scope: email, key: person(n).email, answer: answerOf(n, n * 300) },
        {
          scope: verify,
          key: person(n).email,
          answer: { kind: n % 2 === 0 ? 'hit' : 'unsettled', text: JSON.stringify({ result: 'risky', email: person(n).email }) },
        },
      ]);
      if (n % 4 === 0) ledger.flush();
    }
    ledger.put([
      { scope: domain, key: 'works.example', answer: answerOf(5) },
      {
        scope: email,
        key: 'assistant@works.example',
        answer: { kind: 'hit', text: String.raw`{"email":"PERSON5-39595\u0040works5.example","name":"Xanthippe-5-Quux"}` },
      },
      { scope: email, key: `x${person(5).email}`, answer: { kind: 'miss' } },
    ]);
    ledger.flush();
    expect(filesWith('person5-39595').length).toBeGreaterThan(0);
    const purged = await purgeLedger(path, { email: person(5).email, before: null });
    expect(purged).toMatchObject({ answers: 4, steps: { enrich: 3, verify: 1 } });
    // The key of this other person contains the purged address.
    expect(ledger.get(email, `x${person(5).email}`)).toEqual({ kind: 'miss' });
    await purgeLedger(path, { email: `x${person(5).email}`, before: null });
    for (const trace of ['person5-39595', 'PERSON5-39595', 'Xanthippe-5-Quux']) expect(filesWith(trace)).toEqual([]);
    for (const [scope, key] of [
      [email, person(5).email],
      [verify, person(5).email],
      [domain, 'works.example'],
      [email, 'assistant@works.example'],
    ] as const)
      expect(ledger.get(scope, key)).toBeNull();
    for (let n = 0; n < 40; n++) if (n !== 5) expect(ledger.get(email, person(n).email)).toEqual(answerOf(n, n * 300));
    expectIntact(true);
    // Some answers are not in the index yet when they are purged. The job must not index them later, not even by their hashes.
    for (let n = 100; n < 160; n++) {
      ledger.put([{ scope: email, key: person(n).email, answer: answerOf(n) }]);
      ledger.flush();
      if (n % 5 === 0) await purgeLedger(path, { email: person(n).email, before: null });
    }
    for (let n = 200; n < 240; n++) {
      ledger.put([{ scope: email, key: person(n).email, answer: { kind: 'miss' } }]);
      ledger.flush();
    }
    expectIntact(true);
    ledger.close();
    expect(filesWith('person5-39595')).toEqual([]);
    expect(await purgeLedger(path, { email: person(5).email, before: null })).toMatchObject({ answers: 0, steps: {} });
  });

  it('a purge while a job has the ledger open leaves no byte of the purged people, and every other answer', async () => {
    const action = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          does: fc.constant('put' as const),
          people: fc.array(fc.nat(25), { minLength: 1, maxLength: 10 }),
          chars: fc.constantFrom(0, 300, 3_000, 17_000),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          does: fc.constant('purge' as const),
          people: fc.array(fc.nat(25), { minLength: 1, maxLength: 3 }),
          chars: fc.constant(0),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ does: fc.constantFrom('age' as const, 'reopen' as const), people: fc.constant([]), chars: fc.constant(0) }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 24, size: 'max' }), async (actions) => {
        for (const name of readdirSync(folder)) rmSync(join(folder, name));
        let { ledger, email } = open();
        const kept = new Map<number, { readonly answer: LedgerAnswer; readonly at: number }>();
        const known = new Set<number>();
        try {
          for (const { does, people, chars } of actions) {
            if (does === 'put') {
              for (const n of people) {
                ledger.put([{ scope: email, key: person(n).email, answer: answerOf(n, chars) }]);
                kept.set(n, { answer: answerOf(n, chars), at: now });
                known.add(n);
              }
              ledger.flush();
            } else if (does === 'purge') {
              for (const n of people) {
                await purgeLedger(path, { email: person(n).email, before: null });
                kept.delete(n);
              }
            } else if (does === 'age') {
              await purgeLedger(path, { email: null, before: now });
              for (const [n, { at }] of kept) if (at < now) kept.delete(n);
              now += 1;
            } else {
              ledger.close();
              ({ ledger, email } = open());
            }
            if (does === 'put') continue;
            for (const n of known) {
              expect(ledger.get(email, person(n).email)).toEqual(kept.get(n)?.answer ?? null);
              if (!kept.has(n)) for (const trace of [person(n).email, person(n).name]) expect(filesWith(trace)).toEqual([]);
            }
          }
          expectIntact(false);
        } finally {
          ledger.close();
        }
      }),
      { numRuns: 8 },
    );
  });
});

describe('purging by age', () => {
  it('removes exactly the answers before the given time, and shrinks the file', async () => {
    const ANSWERS = 40_000;
    const { ledger, email } = open();
    const start = now;
    for (let n = 0; n < ANSWERS; n += 2_000) {
      now = start + n;
      ledger.put(Array.from({ length: 2_000 }, (_, i) => ({ scope: email, key: person(n + i).email, answer: answerOf(n + i, 100) })));
    }
    ledger.close();
    const before = statSync(path).size;
    const purged = await purgeLedger(path, { ...NOTHING, before: start + 38_000 });
    expect(purged).toMatchObject({ answers: 38_000, steps: { enrich: 38_000 }, bytes: { after: statSync(path).size } });
    expect(purged.bytes.after).toBeLessThan(before * 0.7);
    expectIntact(true);
    const again = open('run-2');
    for (let n = 0; n < ANSWERS; n += n < 37_900 ? 997 : 1)
      expect(again.ledger.get(again.email, person(n).email)).toEqual(n < 38_000 ? null : answerOf(n, 100));
    again.ledger.close();
    expect((await purgeLedger(path, { ...NOTHING, before: now + 1 })).bytes.after).toBeLessThan(before / 20);
  });

  it('leaves no second copy of an answer in the pages that it frees, so that a later purge of it is complete', async () => {
    const random = seeded(3);
    const { ledger, email } = open('run-1', { indexBatch: 5_000 });
    const live: number[] = [];
    const old = now;
    let next = 0;
    const put = (at: number, rows: number, chars: () => number): void => {
      now = at;
      ledger.put(Array.from({ length: rows }, () => ({ scope: email, key: person(next).email, answer: answerOf(next++, chars()) })));
      ledger.flush();
    };
    // One long stretch of answers to purge, then many short ones between answers that stay.
    for (let i = 0; i < 10; i++) put(old, 2_000, () => 200);
    for (let block = 0; block < 60; block++) {
      const from = next;
      put(old + 1, 60, () => Math.floor(random() * 50));
      for (let n = from; n < next; n++) live.push(n);
      put(old, 60 + block, () => 200);
    }
    const before = ledgerBytes(path);
    const purged = await purgeLedger(path, { ...NOTHING, before: old + 1 });
    expect(purged.answers).toBe(next - live.length);
    expect(purged.bytes.after).toBeLessThan(before);
    // The file holds each remaining person once.
    expect(
      readFileSync(path)
        .toString('latin1')
        .match(/Xanthippe-\d+-Quux/g)?.length,
    ).toBe(live.length);
    for (const n of [live[0], live[1], live[59], live.at(-1)]) {
      await purgeLedger(path, { email: person(n ?? 0).email, before: null });
      for (const trace of [person(n ?? 0).email, `"${person(n ?? 0).name}"`]) expect(filesWith(trace)).toEqual([]);
    }
    for (const n of live.slice(2, 59)) expect(ledger.get(email, person(n).email)).not.toBeNull();
    ledger.close();
    expectIntact(false);
  });

  it('removes only the answers before the time that mention the person, when both are given', async () => {
    const { ledger, email, verify } = open();
    ledger.put([
      { scope: email, key: person(1).email, answer: answerOf(1) },
      { scope: email, key: person(2).email, answer: answerOf(2) },
    ]);
    ledger.flush();
    now += 10;
    ledger.put([{ scope: verify, key: person(1).email, answer: answerOf(1) }]);
    ledger.flush();
    expect(await purgeLedger(path, { email: person(1).email, before: now })).toMatchObject({ answers: 1, steps: { enrich: 1 } });
    expect([ledger.get(email, person(1).email), ledger.get(email, person(2).email), ledger.get(verify, person(1).email)]).toEqual([
      null,
      answerOf(2),
      answerOf(1),
    ]);
    ledger.close();
  });

  it('does not reuse the number of a purged newest answer, so that no run takes another answer for it', async () => {
    const { ledger, email } = open('run-1', { indexBatch: 2 });
    ledger.put([{ scope: email, key: person(1).email, answer: answerOf(1) }]);
    ledger.close();
    // This run has used answer 1, so it would take any answer of that number for its own.
    const user = open('run-2');
    expect(user.ledger.get(user.email, person(1).email)).toEqual(answerOf(1));
    user.ledger.flush();
    await purgeLedger(path, { ...NOTHING, before: now + 1 });
    const other = open('run-3', { job: 'other' });
    other.ledger.put([{ scope: email, key: person(1).email, answer: { kind: 'failed', code: 'http_500', attempts: 5, requestId: null } }]);
    other.ledger.close();
    expect(user.ledger.get(user.email, person(1).email)).toBeNull();
    user.ledger.close();
  });
});

it('a purge of a missing ledger ends with 65 and does not create one', async () => {
  await expect(purgeLedger(path, { ...NOTHING, before: now })).rejects.toMatchObject({ exitCode: 65, code: 'ledger_missing' });
  expect(readdirSync(folder)).toEqual([]);
});

describe('a purge in another process', () => {
  const child = (script: string, ...args: string[]): ReturnType<typeof spawn> =>
    spawn(process.execPath, [fileURLToPath(new URL(script, import.meta.url)), path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });

  it('a purge killed at random moments leaves a valid ledger with all other answers, and the same purge completes it', async () => {
    const random = seeded(21);
    const ANSWERS = 4_000;
    for (let round = 0; round < 4; round++) {
      const [young, old] = [`young-${round}`, now];
      const { ledger, email } = open(`run-${round}`, { indexBatch: 200 });
      ledger.put(Array.from({ length: ANSWERS }, (_, n) => ({ scope: email, key: person(n).email, answer: answerOf(n, 200) })));
      now += 1;
      ledger.put(
        Array.from({ length: 100 }, (_, n) => ({ scope: email, key: `${young}-${n}@works.example`, answer: { kind: 'miss' } as const })),
      );
      ledger.close();
      const purging = child('purging-child.ts', '-', String(old + 1));
      await once(purging.stdout as NodeJS.ReadableStream, 'data');
      // The kill hits a random moment of the purge.
      const until = performance.now() + random() * 60;
      while (performance.now() < until);
      purging.kill('SIGKILL');
      await once(purging, 'close');
      expectIntact(false);
      await purgeLedger(path, { email: null, before: old + 1 });
      expectIntact(true);
      expect(filesWith('Xanthippe')).toEqual([]);
      const after = open('look');
      for (let n = 0; n < 100; n++) expect(after.ledger.get(after.email, `${young}-${n}@works.example`)).toEqual({ kind: 'miss' });
      for (let n = 0; n < ANSWERS; n += 101) expect(after.ledger.get(after.email, person(n).email)).toBeNull();
      after.ledger.close();
    }
  });

  it('removes the old answers while a job writes, and loses none of the new ones', async () => {
    const GROUPS = 40;
    const { ledger, email } = open('old', { indexBatch: 500 });
    ledger.put(Array.from({ length: 3_000 }, (_, n) => ({ scope: email, key: person(n).email, answer: answerOf(n) })));
    ledger.close();
    const writing = child('writing-child.ts', 'run-1', 'g', '0', String(GROUPS));
    await once(writing.stdout as NodeJS.ReadableStream, 'data');
    const purging = child('purging-child.ts', '-', String(now + 1));
    await Promise.all([once(writing, 'close'), once(purging, 'close')]);
    expect([writing.exitCode, purging.exitCode]).toEqual([0, 0]);
    const after = open('run-1', { job: 'job of run-1', now: Date.now });
    expect(countCompleteGroups(after.ledger, after.email, GROUPS)).toBe(GROUPS);
    after.ledger.close();
    expectIntact(false);
    expect(filesWith('Xanthippe')).toEqual([]);
  });
});
