/** Stores the companies of contacts. Most rows repeat the company of an earlier row, whose report is then only newer. */
import { LruMap } from '../../../util/lru-map.ts';
import type { NormalisedCompany } from '../../store/rows/normalised-company.ts';
import type { normalisedCompanyWriter } from '../../store/rows/company-writer.ts';
import type { UpsertResult } from '../../store/rows/upsert-result.ts';
import type { Store } from '../../store/store.ts';
import type { NormalisedBatch } from './normalise-rows.ts';

const MAX_REMEMBERED = 100_000;

/** The last report of a company. */
interface Stored {
  readonly report: number;
  /** The time of its newest copy that is stored. */
  storedMs: number;
  /** A newer copy, with its batch, which waits for the end of the transaction. */
  newest: { readonly company: NormalisedCompany; readonly batch: NormalisedBatch } | null;
}

/** Stores companies: each equal report of a file once, and its newest time with `flush`. */
export class EmployerWriter {
  readonly #put: ReturnType<typeof normalisedCompanyWriter>;
  readonly #source: number;
  readonly #version;
  #seenVersion: unknown = null;
  /** Whether the current transaction has compared the versions. */
  #isBegun = false;
  /** By domain. */
  readonly #last = new LruMap<string, Stored>(MAX_REMEMBERED);
  /** Reports with a newer copy. */
  readonly #newer = new Set<Stored>();

  constructor(store: Store, put: ReturnType<typeof normalisedCompanyWriter>, source: number) {
    this.#put = put;
    this.#source = source;
    this.#version = store.prepare('PRAGMA data_version');
  }

  /** Call `flush` before the transaction ends. */
  put(company: NormalisedCompany, batch: NormalisedBatch): UpsertResult {
    if (!this.#isBegun) this.#begin();
    const { domain, report, atMs, dropped } = company;
    const last = this.#last.get(domain);
    if (last !== undefined && last.report === report) {
      if (atMs > (last.newest?.company.atMs ?? last.storedMs)) {
        last.newest = { company, batch };
        this.#newer.add(last);
      }
      return { kind: 'put', change: 'same', dropped };
    }
    if (last !== undefined) this.#raise(last);
    const result = this.#write(company, batch);
    if (result.kind === 'put' && report !== 0) this.#last.set(domain, { report, storedMs: atMs, newest: null });
    else this.#last.delete(domain);
    return result;
  }

  /** Stores the newest time of each report. */
  flush(): void {
    for (const last of this.#newer) this.#raise(last);
    this.#newer.clear();
    this.#isBegun = false;
  }

  /** Forgets the stored reports when another connection has written since. */
  #begin(): void {
    this.#isBegun = true;
    const version = this.#version.get()?.['data_version'];
    if (version !== this.#seenVersion) this.#last.clear();
    this.#seenVersion = version;
  }

  #raise(last: Stored): void {
    if (last.newest === null) return;
    const { company, batch } = last.newest;
    this.#write(company, batch);
    last.storedMs = company.atMs;
    last.newest = null;
  }

  #write(company: NormalisedCompany, { companyTerms, texts }: NormalisedBatch): UpsertResult {
    return this.#put(company, this.#source, { terms: companyTerms, texts });
  }
}
