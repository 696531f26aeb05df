/** Watches a job over several providers that is killed again and again: lookups and charges of each, and what a kill may repeat. */
import { readNote } from '../../src/lookup/request-parts.ts';
import { checkpoint } from '../providers/jobs.ts';
import type { StandIn, StandInCall } from '../providers/stand-ins/stand-in.ts';
import type { Folder } from './cli.ts';
import { afterKill, ASKING, inCopy, lastWords, type LedgerSite } from './crash-site.ts';
import type { Exchanged, ScriptedService } from './scripted-service.ts';
import type { Step } from '../../src/steps/registry.ts';

/** One provider as a test watches it. */
export interface Watched {
  readonly name: string;
  /** As the ledger's scopes name it. */
  readonly origin: string;
  /** Lookups that were asked for, with their outcomes. Polls of promised answers are not among them. */
  exchanges(): readonly Exchanged[];
  /** All calls so far, and when they came, as `Date.now`. */
  arrivals(): readonly number[];
  /** Credits so far. */
  charged(): number;
  /** How often this lookup was charged: `enrich person-1@company-0.example`. */
  paid(lookup: string): number;
  /** Whether a lookup is settled as soon as the ledger has its ticket. */
  readonly keepsTickets: boolean;
  when(until: () => boolean): Promise<void>;
}

/** The lookups of a call to a stand-in; null for a call that asks for none. */
export type Reading = (call: StandInCall) => { readonly step: Step; readonly keys: readonly string[] } | null;

export function watchStandIn(name: string, standIn: StandIn, reading: Reading, keepsTickets = false): Watched {
  return {
    name,
    origin: standIn.url,
    keepsTickets,
    exchanges: () =>
      standIn.calls.flatMap((call): Exchanged[] => {
        const read = reading(call);
        if (read === null) return [];
        const asked = { path: read.step, keys: read.keys, body: call.text, idempotencyKey: null, number: call.number };
        // A promise is as good as an answer.
        return [{ asked, status: call.status === 202 ? 200 : call.status, answeredAt: null, readBy: call.readBy, broken: false }];
      }),
    arrivals: () => standIn.calls.map(({ at }) => at),
    charged: () => standIn.counts.charged,
    paid: (lookup) => standIn.paidFor.get(lookup) ?? 0,
    when: (until) => standIn.when(until),
  };
}

export function watchService(name: string, service: ScriptedService): Watched {
  const arrivals: number[] = [];
  const { script } = service;
  service.script = (asked, ...more) => {
    arrivals.push(Date.now());
    script(asked, ...more);
  };
  return {
    name,
    origin: service.url,
    keepsTickets: false,
    exchanges: () => service.exchanges,
    arrivals: () => arrivals,
    charged: () => service.credits,
    // It honours Idempotency-Keys: a repeat is free.
    paid: (lookup) => Math.min(1, service.asked.get(lookup) ?? 0),
    when: (until) => service.when(until),
  };
}

/** The state of one provider after a killed run. */
export interface Left {
  readonly provider: string;
  /** Lookups that may be asked for again: in flight, or answered since the last durable write of the ledger began. */
  readonly mayRepeat: readonly string[];
  /** Answered before that, and not in the ledger. Must be empty. */
  readonly late: readonly string[];
  /** Durable before this run, or settled by it, and asked for again. Must be empty. */
  readonly paidTwice: readonly string[];
  /** Calls and credits that the checkpoint does not count, over all kills so far. */
  readonly uncounted: { readonly calls: number; readonly credits: number };
  /** Calls since the checkpoint: more cannot have been forgotten by this kill. */
  readonly callsSinceCheckpoint: number;
}

/** Watches the providers of one job over several kills. */
export class WaterfallSite {
  readonly #folder: Folder;
  readonly #providers: readonly Watched[];
  readonly #since = new Map<string, number>();
  readonly #durable = new Map<string, ReadonlySet<string>>();

  constructor(folder: Folder, providers: readonly Watched[]) {
    this.#folder = folder;
    this.#providers = providers;
  }

  /** The state that the run that has just ended left. To be called after each one. */
  async look(): Promise<Left[]> {
    const saved = await checkpoint(this.#folder).catch(() => null);
    const savedAt = saved === null ? -Infinity : Date.parse(saved.updatedAt);
    const { answers, lastWriteAt } = await readAnswers(this.#folder.at('out.csv.ledger'));
    return this.#providers.map((provider) => {
      const { name, origin, keepsTickets } = provider;
      const exchanges = provider.exchanges();
      const { last, again } = lastWords(exchanges.slice(this.#since.get(name) ?? 0));
      const before = this.#durable.get(name) ?? new Set();
      const own = answers.filter((answer) => isOf(answer.origin, origin) && (!answer.isAsking || (keepsTickets && answer.hasTicket)));
      const site: LedgerSite = { names: new Set(own.map(({ lookup }) => lookup)), last: 0, lastWriteAt };
      this.#since.set(name, exchanges.length);
      this.#durable.set(name, site.names);
      const totals = saved?.providers?.[name]?.totals;
      const counted = Object.values(totals?.calls ?? {}).reduce((sum, calls) => sum + calls, 0);
      return {
        provider: name,
        ...afterKill(last, site, -Infinity),
        paidTwice: [...again, ...[...last.keys()].filter((lookup) => before.has(lookup))],
        uncounted: { calls: provider.arrivals().length - counted, credits: provider.charged() - (totals?.credits ?? 0) },
        callsSinceCheckpoint: provider.arrivals().filter((at) => at >= savedAt).length,
      };
    });
  }
}

/** Whether the ledger's key has a service's answers: the origin, and the path of its address where it has one. */
function isOf(kept: string, origin: string): boolean {
  return kept === origin || kept.startsWith(`${origin}/`);
}

interface LedgerAnswer {
  readonly origin: string;
  /** `enrich person-1@company-0.example` */
  readonly lookup: string;
  readonly isAsking: boolean;
  readonly hasTicket: boolean;
}

async function readAnswers(ledger: string): Promise<{ readonly answers: readonly LedgerAnswer[]; readonly lastWriteAt: number }> {
  return inCopy(ledger, (db) => {
    const there = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'answers'").get();
    if (Number(there?.['n']) === 0) return { answers: [], lastWriteAt: -Infinity };
    const rows = db
      .prepare('SELECT s.origin, s.step, a.key, a.at, a.kind, a.body FROM answers a JOIN scopes s ON s.id = a.scope ORDER BY a.id')
      .all();
    return {
      answers: rows.map(({ origin, step, key, kind, body }) => ({
        origin: String(origin),
        lookup: `${String(step)} ${String(key)}`,
        isAsking: Number(kind) === ASKING,
        hasTicket: Number(kind) === ASKING && readNote(String(body)).ticket !== null,
      })),
      lastWriteAt: Number(rows.at(-1)?.['at'] ?? -Infinity),
    };
  });
}
