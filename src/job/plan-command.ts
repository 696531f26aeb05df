import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { currentHolder } from '../checkpoint/job-lock.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import type { PersonRecord } from '../client/types.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';
import { tellNobody } from '../ledger/options.ts';
import { peekLedger, type Lookup, type PeekedLedger } from '../ledger/peek.ts';
import { isShared, ledgerPlace } from '../ledger/place.ts';
import { enrichKey, verifyKey, type EnrichLookup } from '../processor/keys.ts';
import { lookupScopes, type LookupScopes } from '../processor/scopes.ts';
import { VERIFY_BATCH } from '../processor/verify.ts';
import { readRecords } from '../reader/read-records.ts';
import type { InputManifest, InputRecord } from '../reader/types.ts';
import { adoptSpool } from './frozen-input.ts';
import { ledgerRights } from './ledger-rights.ts';
import { jobPaths, type JobPaths } from './paths.ts';
import { scratchFolder } from './scratch.ts';
import { serviceOrigin } from './service-origin.ts';
import { decideStart, freshStart, type Start } from './start.ts';
import type { CompiledJob } from './types.ts';
import { count, duration, printable } from './words.ts';

/**
 * What a run would do. Of what the ledger knows it is exact. For the rest, `requests.verify` counts as if enrich answered each lookup, found an address
 * where the record has none, and called none verified.
 */
export interface Plan {
  readonly job: string;
  /** `new`, `resume` or `finished`: what `millrace run` would do. */
  readonly start: 'new' | 'resume' | 'finished';
  /** Another run holds the job now, and `millrace run` would wait for it; or null. */
  readonly heldBy: { readonly host: string; readonly pid: number; readonly since: string } | null;
  readonly files: number;
  readonly bytes: number;
  readonly keys: InputManifest['keyName'];
  readonly records: number;
  readonly invalid: number;
  readonly lookups: { readonly unique: number; readonly fromLedger: number };
  readonly requests: { readonly enrich: number; readonly verify: number; readonly total: number };
  readonly rpm: number | null;
  /** At the plan's rate; null when it is unlimited. */
  readonly seconds: number | null;
}

/** Checks everything and calls nothing. Reads the whole input once. */
export async function planCommand(job: CompiledJob, options: { json: boolean }): Promise<ExitCode> {
  const plan = await makePlan(job, serviceOrigin(job));
  process.stdout.write(options.json ? `${JSON.stringify(plan)}\n` : describe(plan));
  return EXIT.ok;
}

/** @throws MillraceError whatever would keep the job from running */
export async function makePlan(job: CompiledJob, serviceOrigin: string): Promise<Plan> {
  const scratch = await scratchFolder(null);
  try {
    return await planIn(scratch, job, serviceOrigin);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function planIn(scratch: string, job: CompiledJob, serviceOrigin: string): Promise<Plan> {
  const paths = { ...jobPaths(job, { scratch: null }), spool: join(scratch, 'stdin'), arriving: join(scratch, 'arriving') };
  const start = await howItWouldStart(job, paths);
  await adoptSpool(paths, null);
  const { manifest } = start.checkpoint;
  const place = ledgerPlace(job.ledger.uri, isShared(job.ledger.uri) ? join(scratch, 'ledger') : paths.ledger);
  const ledger = job.ledger.uri === '' ? null : await peekLedger(place, { ...ledgerRights(job, start.checkpoint), tell: tellNobody });
  const seen = new KeySet(join(scratch, 'keys'));
  try {
    const counting = new Counting(job, seen, ledger, serviceOrigin);
    // A retry has as many records as its output has rows.
    const limit = start.checkpoint.retry?.before.result.tally.total ?? job.limits.limit ?? Infinity;
    reading: for await (const batch of readRecords(manifest, null)) {
      await counting.fetch(batch);
      for (const record of batch) {
        if (counting.records >= limit) break reading;
        counting.add(record);
      }
    }
    const finished = start.kind === 'done' || start.kind === 'finish';
    const requests = finished ? { enrich: 0, verify: 0, total: 0 } : counting.requests();
    return {
      job: job.name,
      start: finished ? 'finished' : start.resumed ? 'resume' : 'new',
      heldBy: await heldBy(job, paths),
      files: manifest.files.length,
      bytes: manifest.files.reduce((sum, file) => sum + file.size, 0),
      keys: manifest.keyName,
      records: counting.records,
      invalid: counting.invalid,
      lookups: { unique: counting.unique, fromLedger: counting.fromLedger },
      requests,
      rpm: job.service.rpm,
      seconds: job.service.rpm === null ? null : Math.ceil((requests.total / job.service.rpm) * 60),
    };
  } finally {
    await ledger?.close();
    seen.close();
  }
}

async function heldBy(job: CompiledJob, paths: JobPaths): Promise<Plan['heldBy']> {
  const holder = job.output.uri === '-' ? null : await currentHolder(paths.lock, Date.now());
  return holder === null ? null : { host: holder.host, pid: holder.pid, since: holder.since };
}

function howItWouldStart(job: CompiledJob, paths: JobPaths): Promise<Start> {
  const options = { fresh: false, now: () => new Date(), signal: new AbortController().signal };
  // Standard output has neither checkpoint nor output to look at.
  return job.output.uri === '-' ? freshStart(job, paths, options) : decideStart(job, paths, options);
}

class Counting {
  records = 0;
  invalid = 0;
  unique = 0;
  fromLedger = 0;
  #enrichCalls = 0;
  #verifyAddresses = 0;
  readonly #job: CompiledJob;
  readonly #seen: KeySet;
  readonly #ledger: PeekedLedger | null;
  readonly #scopes: LookupScopes;

  constructor(job: CompiledJob, seen: KeySet, ledger: PeekedLedger | null, origin: string) {
    this.#job = job;
    this.#seen = seen;
    this.#ledger = ledger;
    this.#scopes = lookupScopes((step, options) => ledger?.scope(origin, step, options) ?? -1, job.service.domainField);
  }

  /** Asks the ledger for all that these records will look up, and then for what its answers lead to. */
  async fetch(records: readonly InputRecord[]): Promise<void> {
    const ask = this.#ledger?.fetch ?? null;
    if (ask === null) return;
    const first = records.flatMap((record) => this.#firstLookup(record));
    await ask(first.map(({ kind, key }) => ({ scope: this.#scopes[kind], key })));
    if (this.#job.steps[0] === 'verify' || !this.#job.steps.includes('verify')) return;
    const second = first.flatMap(({ record, kind, key }): Lookup[] => {
      const email = this.#verifiedAddress(record, this.#look(kind, key));
      return email === null ? [] : [{ scope: this.#scopes.verify, key: email }];
    });
    await ask(second);
  }

  #firstLookup(record: InputRecord): { readonly record: InputRecord; readonly kind: LookupKind; readonly key: string }[] {
    if (record.bad !== null) return [];
    if (this.#job.steps[0] === 'verify') {
      const key = verifyKey(record.email);
      return key === null ? [] : [{ record, kind: 'verify', key }];
    }
    const lookup = enrichKey(record.email, record.domain);
    return typeof lookup === 'string' ? [] : [{ record, kind: lookup.by, key: lookup.key }];
  }

  add(record: InputRecord): void {
    this.records++;
    if (record.bad !== null) {
      this.invalid++;
    } else if (this.#job.steps[0] === 'verify') {
      const email = verifyKey(record.email);
      if (email === null) this.invalid++;
      else if (this.#isNew('verify', email)) this.#verifyAddresses++;
    } else {
      const lookup = enrichKey(record.email, record.domain);
      if (typeof lookup === 'string') this.invalid++;
      else this.#addEnrich(record, lookup);
    }
  }

  #addEnrich(record: InputRecord, { by, key }: EnrichLookup): void {
    const verifies = this.#job.steps.includes('verify');
    const isNew = this.#seen.add(`${by} ${key}`);
    if (!isNew && !verifies) return;
    const answer = this.#look(by, key);
    if (isNew) {
      this.unique++;
      if (answer === null) this.#enrichCalls++;
      else this.fromLedger++;
    }
    if (!verifies) return;
    const email = this.#verifiedAddress(record, answer);
    if (email !== null && this.#isNew('verify', email)) this.#verifyAddresses++;
    // The lookup is counted as if it found an address, which is nobody's before it is known.
    else if (email === null && answer === null && isNew && record.email.trim() === '') this.#verifyAddresses++;
  }

  /** The address that the record's verify step will ask about, as far as it is known: see `RecordProcessor`. */
  #verifiedAddress({ email }: InputRecord, answer: LedgerAnswer | null): string | null {
    if (answer === null || answer.kind === 'miss') return verifyKey(email);
    if (answer.kind === 'suppressed' || answer.kind === 'failed') return null;
    const person = JSON.parse(answer.text) as Partial<PersonRecord> | null;
    if (this.#job.verify.when === 'unverified' && person?.verified === true) return null;
    return verifyKey(email.trim() === '' && typeof person?.email === 'string' ? person.email : email);
  }

  requests(): Plan['requests'] {
    const verify = Math.ceil(this.#verifyAddresses / VERIFY_BATCH);
    return { enrich: this.#enrichCalls, verify, total: this.#enrichCalls + verify };
  }

  /** True for a lookup that would be paid for. */
  #isNew(kind: LookupKind, key: string): boolean {
    if (!this.#seen.add(`${kind} ${key}`)) return false;
    this.unique++;
    if (this.#look(kind, key) === null) return true;
    this.fromLedger++;
    return false;
  }

  #look(kind: LookupKind, key: string): LedgerAnswer | null {
    return this.#ledger?.look(this.#scopes[kind], key) ?? null;
  }
}

type LookupKind = keyof LookupScopes;

/** A set of keys on disk: memory does not grow with the input. */
class KeySet {
  readonly #db: DatabaseSync;
  readonly #insert;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; CREATE TABLE keys (key TEXT PRIMARY KEY) WITHOUT ROWID, STRICT; BEGIN');
    this.#insert = this.#db.prepare('INSERT OR IGNORE INTO keys VALUES (?)');
  }

  /** True when the key was not there before. */
  add(key: string): boolean {
    return this.#insert.run(key).changes === 1;
  }

  close(): void {
    this.#db.close();
  }
}

function whatRunDoes({ start, heldBy }: Plan): string {
  if (heldBy !== null) return `would wait: process ${heldBy.pid} on ${printable(heldBy.host)} has been running this job since ${heldBy.since}`;
  return start === 'finished' ? 'has nothing to do: the job is finished' : start === 'resume' ? 'would resume where it stopped' : 'would start';
}

function describe(plan: Plan): string {
  const { requests, lookups, keys } = plan;
  const mapped = Object.entries(keys).flatMap(([key, column]) => (column === null ? [] : [`${key} from "${column}"`]));
  const rows: [string, string][] = [
    ['input', `${count(plan.files)} file${plan.files === 1 ? '' : 's'}, ${count(plan.bytes)} bytes${mapped.length > 0 ? `; ${mapped.join(', ')}` : ''}`],
    ['records', `${count(plan.records)}${plan.invalid > 0 ? `, of them ${count(plan.invalid)} with nothing to look up` : ''}`],
    ['unique lookups', count(lookups.unique)],
    ['already in the ledger', count(lookups.fromLedger)],
    ['requests needed', `${count(requests.total)} (enrich ${count(requests.enrich)}, verify ${count(requests.verify)})`],
    ['time', plan.seconds === null ? 'no limit: as fast as the service answers' : `${duration(plan.seconds * 1_000)} at ${count(plan.rpm ?? 0)} requests a minute`],
    ['millrace run', whatRunDoes(plan)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return `${rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')}\n`;
}
