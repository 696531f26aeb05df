/** Stores the companies of contacts. Most rows repeat the company of an earlier row, whose report is then only newer. */
import type { NormalisedCompany } from '../../store/rows/normalised-company.ts';
import type { normalisedCompanyWriter } from '../../store/rows/company-writer.ts';
import type { UpsertResult } from '../../store/rows/upsert-result.ts';
import type { NormalisedBatch } from './normalise-rows.ts';

interface Stored {
  readonly company: NormalisedCompany;
  /** The time of the newest report that is stored, and of the newest one, which waits. */
  storedMs: number;
  newestMs: number;
}

/** Stores companies, each equal report of a batch once, and its newest time with `flush`. */
export class EmployerWriter {
  readonly #put: ReturnType<typeof normalisedCompanyWriter>;
  readonly #source: number;
  #batch: NormalisedBatch | null = null;
  /** The last report of each company in the batch. Equal reports have the same text span (`RepeatedCompanies`). */
  readonly #last = new Map<string, Stored>();

  constructor(put: ReturnType<typeof normalisedCompanyWriter>, source: number) {
    this.#put = put;
    this.#source = source;
  }

  /** Call `flush` before the transaction ends. */
  put(company: NormalisedCompany, batch: NormalisedBatch): UpsertResult {
    if (batch !== this.#batch) this.flush();
    this.#batch = batch;
    const { domain, textFrom, atMs, dropped } = company;
    const last = this.#last.get(domain);
    if (last?.company.textFrom === textFrom) {
      last.newestMs = Math.max(last.newestMs, atMs);
      return { kind: 'put', change: 'same', dropped };
    }
    if (last !== undefined) this.#raise(last, batch);
    const result = this.#write(company, atMs, batch);
    if (result.kind === 'put') this.#last.set(domain, { company, storedMs: atMs, newestMs: atMs });
    else this.#last.delete(domain);
    return result;
  }

  /** Stores the newest time of each report. */
  flush(): void {
    const batch = this.#batch;
    if (batch === null) return;
    for (const last of this.#last.values()) this.#raise(last, batch);
    this.#last.clear();
    this.#batch = null;
  }

  #raise(last: Stored, batch: NormalisedBatch): void {
    if (last.newestMs > last.storedMs) this.#write(last.company, last.newestMs, batch);
    last.storedMs = last.newestMs;
  }

  #write(company: NormalisedCompany, atMs: number, { companyTerms, texts }: NormalisedBatch): UpsertResult {
    return this.#put(company.atMs === atMs ? company : { ...company, atMs }, this.#source, { terms: companyTerms, texts });
  }
}
