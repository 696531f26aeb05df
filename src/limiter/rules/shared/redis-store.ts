/** The store of a shared quota in Redis. */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { RedisConnection, type RedisCommands } from '../../../redis/connection.ts';
import { isJudgedLate, mayPass, redisError } from '../../../redis/failure.ts';
import {
  COORDINATOR_LEASE_MS,
  FORGET_POD_MS,
  POD_LEASE_MS,
  type CoordinatorReply,
  type CoordinatorTurn,
  type MissingPod,
  type PodDemand,
  type QuotaEvent,
  type QuotaStore,
  type StampedEvent,
  type PodTurn,
  type PodTurnReply,
} from './messages.ts';
import { GREET, LEAD, LEAVE, TURN } from './scripts.ts';

/** Long enough for a window and late calls. Afterwards an unused quota leaves no trace. */
const KEY_TTL_MS = 180_000;
/** The history of an account: two minutes of 5,000 calls. */
const MAX_HISTORY = 20_000;
/** Events that wait for a coordinator; and the most events that it takes at once. */
const MAX_EVENTS = 20_000;
const MAX_EVENTS_PER_TURN = 2_000;
/** The timeout of an answer: permits would have expired. */
const ANSWER_MS = 1_000;
/** A little less, so that the error names the reason of the connection. */
const CONNECT_MS = 900;

/** A replica at the start may be a failover. After this time it is a wrong address. */
const GIVE_UP_REPLICA_MS = 5_000;
const RETRY_MS = 250;

const ROOT = 'millrace:quota:';
/** The rights that a shared quota needs, as ACL SETUSER takes them: SELECT for another database than 0, CLUSTER SLOTS for a cluster. */
export const QUOTA_RIGHTS =
  `~${ROOT}* +info +select +cluster|slots +eval +evalsha +get +set ` +
  '+del +pexpire +hget +hgetall +hset +hdel +lrange +ltrim +rpush +time';

export class RedisQuotaStore implements QuotaStore {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #keys: Readonly<Record<'leader' | 'pods' | 'told' | 'history' | 'free', string>>;
  readonly #shas = new Map<string, string>();

  /**
   * @param account the service's origin and the API key. Only its hash leaves the process.
   * @throws ConfigError when the URI is invalid
   */
  constructor(uri: string, account: string) {
    this.#connection = new RedisConnection(uri);
    this.#prefix = `${ROOT}{${hash('sha256', account, 'base64url').slice(0, 22)}}:`;
    const key = (name: string): string => `${this.#prefix}${name}`;
    this.#keys = { leader: key('leader'), pods: key('pods'), told: key('told'), history: key('history'), free: key('free') };
  }

  /**
   * Checks that the server accepts this client, without leaving a trace.
   * @throws MillraceError 77 when it wants another password, 78 for a fault that waiting does not mend. A server that cannot be reached is
   * no error.
   */
  async greet(): Promise<void> {
    const sinceMs = performance.now();
    for (;;) {
      const error = await this.#run(GREET, [this.#keys.leader], []).then(
        () => null,
        (why: unknown) => why,
      );
      if (error === null) return;
      const waitedMs = performance.now() - sinceMs;
      const isLate = isJudgedLate(error);
      if (isLate ? waitedMs >= GIVE_UP_REPLICA_MS : !mayPass(error))
        throw redisError(error, { uri: this.#connection.uri, waitedMs, answered: false, rights: QUOTA_RIGHTS });
      if (!isLate) return;
      await sleep(RETRY_MS);
    }
  }

  async turn({ pod, token, want, inFlight, spent, events }: PodTurn): Promise<PodTurnReply> {
    const { leader, pods, told, free } = this.#keys;
    const reply = await this.#run(
      TURN,
      [leader, pods, told, this.#permitsOf(pod), free],
      [pod, token, want, inFlight, spent, COORDINATOR_LEASE_MS, KEY_TTL_MS, MAX_EVENTS, POD_LEASE_MS, ...events.map(textOf)],
    );
    const [nowMs, leads, share, allSpent, freeAtMs, grants] = reply as [string, string, string, number, string, string[]];
    return {
      nowMs: Number(nowMs),
      leader: leads,
      share: Number(share),
      spent: allSpent,
      freeAtMs: Number(freeAtMs),
      grants: grants.map(grantOf),
    };
  }

  async lead({ token, events, freeAtMs, forget }: CoordinatorTurn): Promise<CoordinatorReply | null> {
    const { leader, pods, told, history, free } = this.#keys;
    const targets = events.map((event) => (event.kind === 'grant' ? this.#permitsOf(event.pod) : history));
    const said = events.flatMap((event) =>
      event.kind === 'grant' ? [event.pod, textOf(event), event.ids.length, ...event.ids] : ['', textOf(event), 0],
    );
    const reply = await this.#run(
      LEAD,
      [leader, pods, told, history, free, ...targets],
      [
        token,
        COORDINATOR_LEASE_MS,
        POD_LEASE_MS,
        KEY_TTL_MS,
        MAX_HISTORY,
        freeAtMs,
        MAX_EVENTS_PER_TURN,
        this.#permitsOf(''),
        FORGET_POD_MS,
        forget.length,
        events.length,
        ...forget,
        ...said,
      ],
    );
    if (reply === null) return null;
    const [nowMs, there, heard, missing] = reply as [string, string[], string[], string[]];
    return { nowMs: Number(nowMs), pods: podsOf(there), missing: missingOf(missing), events: heard.flatMap(eventOf) };
  }

  async history(): Promise<readonly StampedEvent[]> {
    const lines = await this.#bounded((client) => client.lrange(this.#keys.history, 0, -1));
    return lines.flatMap((line) => {
      const space = line.indexOf(' ');
      return eventOf(line.slice(space + 1)).map((event) => ({ atMs: Number(line.slice(0, space)), event }));
    });
  }

  async leave(pod: string, token: string, events: readonly QuotaEvent[]): Promise<void> {
    const { leader, pods, told } = this.#keys;
    await this.#run(LEAVE, [leader, pods, told, this.#permitsOf(pod)], [pod, token, KEY_TTL_MS, ...events.map(textOf)]);
  }

  close(): void {
    this.#connection.close();
  }

  #permitsOf(pod: string): string {
    return `${this.#prefix}permits:${pod}`;
  }

  /** Runs a script by its hash, as long as the server has it. */
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
        // Commands on this connection must not run later.
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

/** Empty when the text is another version's, or no event. */
function eventOf(text: string): QuotaEvent[] {
  try {
    const event = JSON.parse(text) as QuotaEvent;
    return typeof event.kind === 'string' ? [event] : [];
  } catch {
    return [];
  }
}

function grantOf(text: string): PodTurnReply['grants'][number] {
  const [id = '', atMs = '0'] = text.split(' ');
  return { id, atMs: Number(atMs) };
}

/** Reads a flat list of names and shares. */
function missingOf(flat: readonly string[]): MissingPod[] {
  return flat.flatMap((pod, i) => (i % 2 === 1 ? [] : [{ pod, share: Number(flat[i + 1]) }]));
}

/** Reads a flat list of names and states. */
function podsOf(flat: readonly string[]): PodDemand[] {
  return flat.flatMap((pod, i) => {
    if (i % 2 === 1) return [];
    const [, want = 0, inFlight = 0, spent = 0] = (flat[i + 1] ?? '').split(' ').map(Number);
    return [{ pod, want, inFlight, spent }];
  });
}
