/** How work on jobs is noted: results on the disk first, and then all that is known of them in one transaction, by whoever has the lease. */
import type { ActiveKey, KeyRing, Use } from '../key-ring.ts';
import type { ServiceMeter } from '../watch/meter.ts';
import type { BatchRow, BatchRows, Progress } from './batch-rows.ts';
import type { BatchFolder } from './folder.ts';
import type { Pacer } from './pacer.ts';
import { writeWhenFree, type Writing } from './writing.ts';

const NO_USE: Use = { credits: 0, calls: 0 };

export interface NotesOptions extends Writing {
  readonly rows: BatchRows;
  readonly folder: BatchFolder;
  readonly keys: KeyRing;
  readonly pacer: Pacer;
  readonly meter: ServiceMeter;
  /** Who has the lease while it works. */
  readonly owner: string;
}

/** Another process works on the jobs, or has done so meanwhile, or this one is to stop. */
export class Dismissed extends Error {}

export class Notes {
  readonly #options: NotesOptions;

  constructor(options: NotesOptions) {
    this.#options = options;
  }

  /** Runs `work` in a transaction, and `written` right after it. @throws Dismissed where it is no more this process's to do */
  async write(work: () => void, written?: () => void): Promise<void> {
    const { rows, owner, stopped } = this.#options;
    await writeWhenFree(this.#options, () => {
      if (stopped() || !rows.isHeldBy(owner)) throw new Dismissed();
      work();
    }, written);
  }

  /** Puts results on the disk, and then notes them together with what they cost. @throws Dismissed as `write` does, and where the job is not any more where the round began */
  async add(row: BatchRow, kept: Buffer, progress: Progress, paid: { readonly key: ActiveKey; readonly use: Use } | null, more: () => void): Promise<void> {
    const { rows, folder, keys, meter, owner } = this.#options;
    const files = rows.files.all(row, 'results');
    // Each process writes to a file of its own: one that was stopped, and wakes up after another one has taken over, cannot write into what that one has noted. Nor does one that has the job again write into what it has noted before.
    const mine = `-${owner.split(':').at(-1)}`;
    const last = files.at(-1);
    const n = (last?.n ?? 0) + 1;
    const file = last?.file.endsWith(mine) === true ? last : { n, file: `results-${n}${mine}`, bytes: 0 };
    // What others have noted must be there: all of it is paid for, and without it nothing of the job can be read.
    if (file !== last) for (const { file: name, bytes } of files) await folder.cut(row.id, name, bytes);
    await folder.append(row.id, file.file, file.bytes, kept);
    const use = paid?.use ?? NO_USE;
    await this.write(() => {
      // Another process may have had the lease meanwhile, done these lines, and be gone: it is this one's again, and the round is not.
      if (!rows.addProgress(row, progress)) throw new Dismissed();
      rows.files.put(row, 'results', { ...file, bytes: file.bytes + kept.length });
      if (paid !== null) keys.writeHeld(paid.key, use);
      more();
    }, () => {
      if (paid !== null) keys.wroteHeld(paid.key, use);
      meter.credits += use.credits;
      meter.batchLines += progress.place.line - row.place.line;
    });
  }

  /** The texts one after the other, made in slices. */
  async toBytes(count: number, textOf: (at: number) => string): Promise<Buffer> {
    const { pacer } = this.#options;
    const texts: string[] = [];
    let size = 0;
    await pacer.work(() => {
      const text = textOf(texts.length);
      size += Buffer.byteLength(text);
      texts.push(text);
      return texts.length >= count;
    });
    // A buffer for each would be a thousand for the garbage collector, which stops everybody.
    const bytes = Buffer.allocUnsafeSlow(size);
    let [next, at] = [0, 0];
    await pacer.work(() => {
      at += bytes.write(texts[next++] as string, at);
      return next >= count;
    });
    return bytes;
  }
}
