import { randomUUID } from 'node:crypto';
import { InputError, StorageError } from '../../util/errors.ts';
import type { LedgerContents } from '../contents.ts';
import type { Purged, PurgeFilter } from '../purge.ts';
import type { SharedAnswer } from '../options.ts';
import { countStep, SharedCounts, sharedPurgeTest } from '../shared-counts.ts';
import type { LedgerStats } from '../stats.ts';
import { packAnswers, type RunAnswers } from './segment.ts';
import type { Segments } from './segments.ts';

/** Reads of a segment that grows meanwhile. */
const MOST_TRIES = 5;

/** A whole ledger in S3, read segment by segment, so that memory does not grow with it. */
export class S3Contents implements LedgerContents {
  readonly #segments: Segments;

  constructor(segments: Segments) {
    this.#segments = segments;
  }

  async stats(options: { maxAgeDays: number; now: number }): Promise<LedgerStats> {
    const counts = new SharedCounts(options);
    for (const name of await this.#names()) {
      const { parts, bytes } = await this.#segments.read(name, 0);
      counts.add(bytes, parts, []);
      for (const { answers } of parts) counts.add(0, [], answers);
    }
    return counts.stats();
  }

  /**
   * Rewrites the segments that have matching answers, with the headers of their totals. A running job rewrites its current segment itself.
   * Then every working file is rebuilt when it is next opened. @throws StorageError 74 when others keep rewriting a segment
   */
  async purge(filter: PurgeFilter): Promise<Purged> {
    const meant = sharedPurgeTest(filter);
    const steps: Record<string, number> = {};
    const sum = { before: 0, after: 0 };
    for (const name of await this.#names()) {
      const { gone, before, after } = await this.#purgeSegment(name, meant);
      for (const answer of gone) countStep(steps, answer);
      sum.before += before;
      sum.after += after;
    }
    const answers = Object.values(steps).reduce((all, n) => all + n, 0);
    if (answers > 0) await this.#segments.markPurged(new Date(), randomUUID());
    return { answers, steps, bytes: sum };
  }

  close(): void {}

  /** A running job has extended its segment meanwhile: then the new one is read. */
  async #purgeSegment(
    name: string,
    meant: (answer: SharedAnswer) => boolean,
  ): Promise<{ readonly gone: readonly SharedAnswer[]; readonly before: number; readonly after: number }> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const { parts, bytes, etag } = await this.#segments.read(name, 0);
      const gone = parts.flatMap(({ answers }) => answers.filter(meant));
      if (gone.length === 0) return { gone, before: bytes, after: bytes };
      const left = await packAll(parts.map((part) => ({ ...part, answers: part.answers.filter((answer) => !meant(answer)) })));
      if (await this.#segments.rewrite(name, left, etag)) return { gone, before: bytes, after: left.length };
    }
    throw new StorageError(
      'ledger_failed',
      `${this.#segments.uri}/${name} was written by a running job each time that it was to be purged`,
      { hint: 'Run the same command again when the job has ended.' },
    );
  }

  async #names(): Promise<readonly string[]> {
    const { segments } = await this.#segments.list();
    if (segments.length === 0)
      throw new InputError('ledger_missing', `There is no ledger ${this.#segments.uri}`, {
        hint: 'Name the job that it belongs to, or its place with --ledger. A job has one once it has run.',
      });
    return segments.map(({ name }) => name);
  }
}

async function packAll(parts: readonly RunAnswers[]): Promise<Buffer> {
  const members: Buffer[] = [];
  for (const part of parts) members.push((await packAnswers(part)).packed);
  return Buffer.concat(members);
}
