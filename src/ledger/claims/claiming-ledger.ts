import type { Wait } from '../../util/waits.ts';
import { ledgerFailure } from '../failure.ts';
import { lookupHash } from '../key-hash.ts';
import { Ledger } from '../ledger.ts';
import type { LedgerEntry, LedgerOptions, Teller } from '../options.ts';
import { FileLedger, type LedgerListener, type LookupListener } from '../run-ledger.ts';
import { ClaimsFile } from './claims-file.ts';
import { FileClaims } from './file-claims.ts';
import { Presence } from './presence.ts';

export interface ClaimingLedgerOptions extends LedgerOptions {
  /** See `PresenceOptions.name`. */
  readonly claimant: string;
  /** See `RunLedgerOptions.keySeed`. */
  readonly keySeed: string;
  /** Monotonic milliseconds; for tests. */
  readonly monotonicNow?: () => number;
  readonly tell: Teller;
}

const realNow = (): number => performance.now();

/** A ledger file that other runs on this machine may use at the same time. Each run claims a lookup before it asks for it. */
export class ClaimingLedger extends FileLedger {
  readonly #path: string;
  readonly #claims: FileClaims;
  #listener: LedgerListener = { moved: () => undefined, failed: () => undefined };

  private constructor(file: Ledger, presence: Presence, { path, tell, keySeed, monotonicNow = realNow }: ClaimingLedgerOptions) {
    super(file);
    this.#path = path;
    let hasShared = false;
    const shared = (): void => {
      if (hasShared) return;
      hasShared = true;
      const others = [...presence.others.values()].map(({ process: { pid, host } }) => `process ${pid} on ${host}`).join(', ');
      tell.info('ledger_shared', `another run uses the ledger as well (${others}): this run waits for the answers that it is asking for`);
    };
    this.#claims = new FileClaims({
      path,
      presence,
      keySeed,
      get: ({ scope, key, unfit }) => {
        const answer = file.get(scope, key, unfit);
        // Another shard of this run is asking: that is no answer yet.
        return answer?.kind === 'asking' ? null : answer;
      },
      readOthers: (work) => file.readOthers(work),
      publish: () => file.publish(),
      monotonicNow,
      shared,
      moved: () => this.#listener.moved(),
      failed: (error) => this.#listener.failed(this.#failure(error)),
    });
    file.watchOthers((hash) => this.#claims.arrived(hash));
  }

  /** @throws ConfigError when the file is no ledger, StorageError when the disk refuses, 75 when another process keeps it locked */
  static open(options: ClaimingLedgerOptions): ClaimingLedger {
    const file = Ledger.open({ ...options, readsOthers: 'on request' });
    try {
      const presence = new Presence({ ...options, name: options.claimant, monotonicNow: options.monotonicNow ?? realNow });
      presence.register(() => ClaimsFile.remove(options.path));
      return new ClaimingLedger(file, presence, options);
    } catch (error) {
      file.close();
      throw ledgerFailure(options.path, error);
    }
  }

  override get waiting(): number {
    return this.#claims.waiting;
  }

  override get joining(): Wait | null {
    return this.#claims.joining;
  }

  override listen(listener: LedgerListener): void {
    this.#listener = listener;
  }

  override ask(scope: number, key: string, onAnswer: LookupListener, unfit: string | null = null): void {
    this.#claims.ask({
      scope,
      key,
      hash: lookupHash(scope, key),
      unfit,
      // A claim is granted when no living run holds it, so that two runs never ask with one ticket.
      onAnswer: (answer, seed) => onAnswer(answer, seed, answer === null ? this.file.promised(scope, key) : null),
    });
  }

  override release(scope: number, keys: readonly string[]): void {
    this.#claims.release(keys.map((key) => lookupHash(scope, key)));
  }

  override put(entries: readonly LedgerEntry[]): void {
    super.put(entries);
    this.#claims.answered(entries.filter(({ answer }) => answer.kind !== 'asking').map(({ scope, key }) => lookupHash(scope, key)));
  }

  override room(): Promise<void> | null {
    return this.#claims.room();
  }

  override mayCall(): true | Promise<void> {
    const kept = super.mayCall();
    if (kept !== true) return kept;
    try {
      return this.#claims.mayCall();
    } catch (error) {
      throw this.#failure(error);
    }
  }

  override async close(): Promise<void> {
    this.#claims.stop();
    try {
      await super.close();
    } finally {
      this.#leave();
    }
  }

  /** If this run cannot leave, others notice when its process has ended. */
  #leave(): void {
    try {
      this.#claims.leave();
    } catch {}
  }

  #failure(error: unknown): unknown {
    return ledgerFailure(this.#path, error);
  }
}
