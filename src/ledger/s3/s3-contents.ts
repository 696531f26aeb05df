import { randomUUID } from 'node:crypto';
import { InputError } from '../../errors.ts';
import type { LedgerContents } from '../contents.ts';
import type { Purged, PurgeFilter } from '../purge.ts';
import { countStep, SharedCounts, sharedPurgeTest } from '../shared-counts.ts';
import type { LedgerStats } from '../stats.ts';
import { packPart, type Part } from './segment.ts';
import type { Segments } from './segments.ts';

/** A ledger in S3 as a whole: read segment by segment, so that memory does not grow with it. */
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
   * Writes anew the segments that hold what is meant, with the headers that tell totals. What a running job has in hand it
   * writes again. Then every working file is made anew when it is next opened.
   */
  async purge(filter: PurgeFilter): Promise<Purged> {
    const meant = sharedPurgeTest(filter);
    const steps: Record<string, number> = {};
    const sum = { before: 0, after: 0 };
    for (const name of await this.#names()) {
      const { parts, bytes } = await this.#segments.read(name, 0);
      const gone = parts.flatMap(({ answers }) => answers.filter(meant));
      for (const answer of gone) countStep(steps, answer);
      const left = gone.length === 0 ? null : await packAll(parts.map((part) => ({ ...part, answers: part.answers.filter((answer) => !meant(answer)) })));
      if (left !== null) await this.#segments.write(name, left);
      sum.before += bytes;
      sum.after += left?.length ?? bytes;
    }
    const answers = Object.values(steps).reduce((all, n) => all + n, 0);
    if (answers > 0) await this.#segments.markPurged(new Date(), randomUUID());
    return { answers, steps, bytes: sum };
  }

  close(): void {}

  async #names(): Promise<readonly string[]> {
    const { segments } = await this.#segments.list();
    if (segments.length === 0) throw new InputError('ledger_missing', `There is no ledger ${this.#segments.uri}`, { hint: 'Name the job that it belongs to, or its place with --ledger. A job has one once it has run.' });
    return segments.map(({ name }) => name);
  }
}

async function packAll(parts: readonly Part[]): Promise<Buffer> {
  const members: Buffer[] = [];
  for (const part of parts) members.push((await packPart(part)).packed);
  return Buffer.concat(members);
}
