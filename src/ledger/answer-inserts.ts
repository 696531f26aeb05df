import type { StatementSync } from 'node:sqlite';
import { encodeAnswer } from './answer.ts';
import type { AnswerIndex } from './answer-index.ts';
import type { KnownKeys } from './known-keys.ts';
import type { LedgerFile } from './ledger-file.ts';
import type { NewAnswerRow } from './options.ts';
import type { UsedAnswers } from './used-answers.ts';

/** Writes new rows of answers, and moves a slice of earlier answers into the index with each write. */
export class AnswerInserts {
  readonly #file: LedgerFile;
  readonly #index: AnswerIndex;
  readonly #used: UsedAnswers;
  readonly #known: KnownKeys | null;
  readonly #insert: StatementSync;

  constructor(file: LedgerFile, index: AnswerIndex, used: UsedAnswers, known: KnownKeys | null) {
    this.#file = file;
    this.#index = index;
    this.#used = used;
    this.#known = known;
    this.#insert = file.db.prepare('INSERT INTO answers (scope, key, run, at, kind, body) VALUES (?, ?, ?, ?, ?, ?)');
  }

  /** Writes the rows and runs `alongside` in one transaction. Returns the hashes of the rows. @throws StorageError */
  write(rows: Iterable<NewAnswerRow>, alongside: () => void): readonly number[] {
    const added: { hash: number; id: number }[] = [];
    const indexed = this.#file.guard(() =>
      this.#file.write(() => {
        this.#index.readNewer();
        for (const { scope, key, hash, run, at, answer, counts } of rows) {
          const { kind, body } = encodeAnswer(answer);
          const id = Number(this.#insert.run(scope, key, run, at, kind, body).lastInsertRowid);
          added.push({ hash, id });
          if (counts) this.#used.add(id);
        }
        alongside();
        return this.#index.writeSlice(added.length);
      }),
    );
    indexed();
    this.#file.guard(() => this.#known?.readOn());
    for (const { hash, id } of added) this.#index.add(hash, id);
    return added.map(({ hash }) => hash);
  }
}
