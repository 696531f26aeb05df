/** The store of a shared quota in Redis. */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { RedisConnection, type RedisCommands } from '../../redis/connection.ts';
import { isJudgedLate, mayPass, redisError } from '../../redis/failure.ts';
import { LEADER_LEASE_MS, MISSING_MS, POD_LEASE_MS, type LeadReply, type LeadTurn, type MissingPod, type PodState, type QuotaEvent, type QuotaStore, type Stamped, type Turn, type TurnReply } from './messages.ts';
import { GREET, LEAD, LEAVE, TURN } from './scripts.ts';

/** Long enough for a window and what lags behind; then nothing is left of a quota that nobody uses. */
const KEPT_MS = 180_000;
/** An account's history: two minutes of 5,000 calls. */
const MOST_HISTORY = 20_000;
/** Told and not yet taken, where nobody leads; and taken at once. */
const MOST_TOLD = 20_000;
const MOST_TAKEN = 2_000;
/** An answer that takes longer is not waited for: permits would have run out. */
const ANSWER_MS = 1_000;
/** A little less, so that what the connection met is the reason that is given. */
const CONNECT_MS = 900;

/** A replica at the start may be a failover under way; after this it is a wrong address. */
const JUDGED_AFTER_MS = 5_000;
const AGAIN_MS = 250;

const ROOT = 'millrace:quota:';
/** What a shared quota needs, as ACL SETUSER takes it: SELECT for another database than 0, CLUSTER SLOTS for a cluster. */
export const QUOTA_RIGHTS = `~${ROOT}* +info +select +cluster|slots +eval +evalsha +get +set +del +pexpire +hget +hgetall +hset +hdel +lrange +ltrim +rpush +time`;

export class RedisQuotaStore implements QuotaStore {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #keys: Readonly<Record<'leader' | 'pods' | 'told' | 'history' | 'free', string>>;
  readonly #shas = new Map<string, string>();

  /**
   * @param account who shares: the service's origin and the API key. Only its hash leaves the process.
   * @throws ConfigError when the URI is none
   */
  constructor(uri: string, account: string) {
    this.#connection = new RedisConnection(uri);
    this.#prefix = `${ROOT}{${hash('sha256', account, 'base64url').slice(0, 22)}}:`;
    const key = (name: string): string => `${this.#prefix}${name}`;
    this.#keys = { leader: key('leader'), pods: key('pods'), told: key('told'), history: key('history'), free: key('free') };
  }

  /**
   * Asks whether the server takes us at all, without a trace.
   * @throws MillraceError 77 when it wants another password, 78 for what waiting does not mend; nothing when it cannot be reached, which may pass
   */
  async greet(): Promise<void> {
    const sinceMs = performance.now();
    for (;;) {
      const error = await this.#run(GREET, [this.#keys.leader], []).then(() => null, (why: unknown) => why);
      if (error === null) return;
      const waitedMs = performance.now() - sinceMs;
      const isLate = isJudgedLate(error);
      if (isLate ? waitedMs >= JUDGED_AFTER_MS : !mayPass(error)) throw redisError(error, { uri: this.#connection.uri, waitedMs, answered: false, rights: QUOTA_RIGHTS });
      if (!isLate) return;
      await sleep(AGAIN_MS);
    }
  }

  async turn({ pod, token, want, inFlight, spent, events }: Turn): Promise<TurnReply> {
    const { leader, pods, told, free } = this.#keys;
    const reply = await this.#run(TURN, [leader, pods, told, this.#permitsOf(pod), free], [pod, token, want, inFlight, spent, LEADER_LEASE_MS, KEPT_MS, MOST_TOLD, POD_LEASE_MS, ...events.map(textOf)]);
    const [nowMs, leads, share, allSpent, freeAtMs, grants] = reply as [string, string, string, number, string, string[]];
    return { nowMs: Number(nowMs), leader: leads, share: Number(share), spent: allSpent, freeAtMs: Number(freeAtMs), grants: grants.map(grantOf) };
  }

  async lead({ token, events, freeAtMs, forget }: LeadTurn): Promise<LeadReply | null> {
    const { leader, pods, told, history, free } = this.#keys;
    const targets = events.map((event) => (event.kind === 'grant' ? this.#permitsOf(event.pod) : history));
    const said = events.flatMap((event) => (event.kind === 'grant' ? [event.pod, textOf(event), event.ids.length, ...event.ids] : ['', textOf(event), 0]));
    const reply = await this.#run(LEAD, [leader, pods, told, history, free, ...targets], [token, LEADER_LEASE_MS, POD_LEASE_MS, KEPT_MS, MOST_HISTORY, freeAtMs, MOST_TAKEN, this.#permitsOf(''), MISSING_MS, forget.length, events.length, ...forget, ...said]);
    if (reply === null) return null;
    const [nowMs, there, heard, missing] = reply as [string, string[], string[], string[]];
    return { nowMs: Number(nowMs), pods: podsOf(there), missing: missingOf(missing), events: heard.flatMap(eventOf) };
  }

  async history(): Promise<readonly Stamped[]> {
    const lines = await this.#bounded((client) => client.lrange(this.#keys.history, 0, -1));
    return lines.flatMap((line) => {
      const space = line.indexOf(' ');
      return eventOf(line.slice(space + 1)).map((event) => ({ atMs: Number(line.slice(0, space)), event }));
    });
  }

  async leave(pod: string, token: string, events: readonly QuotaEvent[]): Promise<void> {
    const { leader, pods, told } = this.#keys;
    await this.#run(LEAVE, [leader, pods, told, this.#permitsOf(pod)], [pod, token, KEPT_MS, ...events.map(textOf)]);
  }

  close(): void {
    this.#connection.close();
  }

  #permitsOf(pod: string): string {
    return `${this.#prefix}permits:${pod}`;
  }

  /** By its hash, as long as the server has it. */
  async #run(script: string, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    const sha = this.#shas.get(script) ?? hash('sha1', script);
    this.#shas.set(script, sha);
    try {
      return await this.#bounded((client) => client.evalsha(sha, keys.length, ...keys, ...values));
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.#bounded((client) => client.eval(script, keys.length, ...keys, ...values));
    }
  }

  async #bounded<T>(work: (client: RedisCommands) => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        // What was asked on this connection shall not be done later.
        if (this.#connection.commands !== null) this.#connection.renew();
        reject(new Error(`no answer within ${ANSWER_MS} ms`));
      }, ANSWER_MS);
    });
    try {
      return await Promise.race([late, this.#connection.use(work, CONNECT_MS)]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function textOf(event: QuotaEvent): string {
  return JSON.stringify(event);
}

/** None when it is of another version, or nobody's. */
function eventOf(text: string): QuotaEvent[] {
  try {
    const event = JSON.parse(text) as QuotaEvent;
    return typeof event.kind === 'string' ? [event] : [];
  } catch {
    return [];
  }
}

function grantOf(text: string): TurnReply['grants'][number] {
  const [id = '', atMs = '0'] = text.split(' ');
  return { id, atMs: Number(atMs) };
}

/** A flat list of names and shares. */
function missingOf(flat: readonly string[]): MissingPod[] {
  return flat.flatMap((pod, i) => (i % 2 === 1 ? [] : [{ pod, share: Number(flat[i + 1]) }]));
}

/** A flat list of names and states. */
function podsOf(flat: readonly string[]): PodState[] {
  return flat.flatMap((pod, i) => {
    if (i % 2 === 1) return [];
    const [, want = 0, inFlight = 0, spent = 0] = (flat[i + 1] ?? '').split(' ').map(Number);
    return [{ pod, want, inFlight, spent }];
  });
}
