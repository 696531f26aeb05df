/**
 * Every S3 request of a whole job is denied, throttled, cut and stalled in turn, for a job that begins and one that resumes. Input, output,
 * ledger, checkpoint and lock lie in S3.
 * The job runs in this process, so that waits can be short.
 */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { describeFailure } from '../../src/cli/failure.ts';
import { RotatingKey } from '../../src/client/rotating-key.ts';
import { EXIT, MillraceError } from '../../src/util/errors.ts';
import { runCommand } from '../../src/job/commands/run-command.ts';
import { s3Client } from '../../src/s3/client.ts';
import { RETRY_POLICY } from '../../src/s3/retry.ts';
import { S3Storage } from '../../src/storage/s3-storage.ts';
import { compiled } from '../definition/support.ts';
import { s3Environment } from '../s3/bucket.ts';
import { S3StandIn, type Contents, type Requested, type Trouble } from '../s3/stand-in.ts';
import { cleanUp } from '../support/clean-up.ts';
import { Folder } from '../support/cli.ts';
import { sampleOf } from '../support/sample.ts';
import { API_KEY, ScriptedService } from '../support/scripted-service.ts';
import { SEED } from '../support/seed.ts';

/**
 * A run is a new process that knows nothing of S3 from the run before. Stalled attempts end after a moment; elsewhere a busy machine may
 * take that long.
 */
const fresh = vi.hoisted(() => ({ storage: null as unknown, idleMs: 10_000 }));

/** Waits are not tested here, so the next attempt comes at once. */
vi.mock(import('../../src/s3/retry.ts'), async (original) => {
  const short = {
    attempts: 8,
    baseMs: 1,
    capMs: 2,
    get idleMs() {
      return fresh.idleMs;
    },
  };
  return { ...(await original()), RETRY_POLICY: short, LOCK_RETRY_POLICY: short };
});

vi.mock(import('../../src/storage/s3-storage.ts'), async (original) => ({
  ...(await original()),
  s3Storage: async () => fresh.storage as S3Storage,
}));

const INPUT =
  'name,email\n' +
  ['a@works.example', 'b@works.example', 'no address', 'c@works.example', 'd@works.example']
    .map((email, i) => `Person ${i},${email}\n`)
    .join('');
const AT = 's3://bucket/';
const WHOLE = { code: 0, text: '' };

let s3: S3StandIn;
let folder: Folder;
let service: ScriptedService;
let expected: Buffer | null = null;
/** The content before a run: the input alone, or what a stopped run left. */
const states: Record<string, Contents> = {};

beforeAll(async () => {
  [s3, folder, service] = await Promise.all([S3StandIn.start(), Folder.make(), ScriptedService.start()]);
  for (const [name, value] of Object.entries(s3Environment({ owner: 'secret' }, s3.url))) vi.stubEnv(name, value);
  s3.put('bucket/in.csv', INPUT);
  states['begins'] = s3.contents;
  expect(await run()).toEqual(WHOLE);
  expected = s3.get('bucket/out.csv');
  s3.contents = states['begins'];
  expect((await run(2)).code).toBe(EXIT.stopped);
  states['resumes'] = s3.contents;
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await Promise.all([s3.stop(), service.stop(), folder.remove()]);
});

/** A run on a new machine. @param stopAfter requests of the service after which the run is told to stop */
async function run(
  stopAfter = Infinity,
  troubleFor: S3StandIn['troubleFor'] = () => null,
): Promise<{ readonly code: number; readonly text: string }> {
  await rm(folder.at('scratch'), { recursive: true, force: true });
  fresh.storage = new S3Storage({ client: await s3Client(), retryPolicy: RETRY_POLICY });
  s3.requests.length = 0;
  s3.troubleFor = troubleFor;
  service.forget();
  const stop = new AbortController();
  service.script = ({ number }, _response, reply, usual) => {
    if (number === stopAfter) stop.abort(new MillraceError(EXIT.stopped, 'signalled', 'stopped by the test'));
    reply(usual());
  };
  const job = compiled({
    flags: {
      plan: 'enterprise',
      concurrency: '1',
      'max-errors': '100%',
      steps: 'enrich',
      'base-url': service.url,
      input: `${AT}in.csv`,
      output: `${AT}out.csv`,
      ledger: `${AT}ledger`,
    },
  });
  try {
    const options = {
      shard: null,
      fresh: false,
      progress: 'none',
      logLevel: 'error',
      logFormat: 'json',
      scratch: folder.at('scratch'),
      monitor: null,
    } as const;
    return {
      code: await runCommand(job, options, {
        access: new Map([['service', { baseUrl: service.url, apiKey: new RotatingKey(API_KEY) }]]),
        command: 'millrace run',
        signals: { drain: stop.signal, abort: new AbortController().signal },
        env: {},
      }),
      text: '',
    };
  } catch (error) {
    const { exitCode, text } = describeFailure(error, false);
    return { code: exitCode, text };
  } finally {
    s3.troubleFor = () => null;
  }
}

/** The same fault for a request and all of its repetitions. */
function always(first: number, trouble: Trouble): { troubleFor: S3StandIn['troubleFor']; met: () => string } {
  let met = '';
  return {
    met: () => met,
    troubleFor: ({ number, name }) => (number >= first && (met === '' || met === name) ? ((met = name), trouble) : null),
  };
}

/** The fault for the first attempt at each chosen request only. */
function once(trouble: Trouble, chosen: (request: Requested, count: number) => boolean): S3StandIn['troubleFor'] {
  const again = new Set<string>();
  let count = 0;
  return (request) => {
    if (again.delete(request.name)) return null;
    if (!chosen(request, ++count)) return null;
    again.add(request.name);
    return trouble;
  };
}

describe.each(['begins', 'resumes'])(`a request of a job that %s (SEED=${SEED})`, (state) => {
  async function requests(): Promise<Requested[]> {
    s3.contents = states[state] as Contents;
    expect(await run()).toEqual(WHOLE);
    return [...s3.requests];
  }

  test(
    'each request that is denied for good ends the run with 74 or 65 and names the object and the remedy, except a clean-up request',
    { timeout: 240_000 },
    async () => {
      const all = await requests();
      const clearsUpFrom = all.findLast(({ name }) => name === 'PUT /bucket/out.csv.checkpoint.json')?.number ?? 0;
      const wrong: string[] = [];
      const seen = new Set<number>();
      // After its start a resume makes the same requests as any other job.
      const last = state === 'begins' ? all.length : all.findIndex(({ name }) => name.startsWith('PUT /bucket/out.csv.partial.RUN')) + 1;
      const input = all.findIndex(({ name }) => name.startsWith('GET ') && name.includes('in.csv')) + 1;
      // The first, the last and one of the input get each fault; a sample is drawn from the others.
      for (const n of new Set([1, input, last, ...sampleOf(all.slice(0, last), 6).map(({ number }) => number)])) {
        s3.contents = states[state] as Contents;
        const { troubleFor, met } = always(n, 'denied');
        const { code, text } = await run(Infinity, troubleFor);
        seen.add(code);
        // Existence is asked for in two ways, and one negative answer suffices.
        const mayPass = n > clearsUpFrom || met().startsWith('HEAD ');
        const right =
          code === 0
            ? mayPass && s3.get('bucket/out.csv')?.equals(expected ?? Buffer.alloc(0)) === true
            : code === (met().includes('in.csv') ? 65 : 74) && text.includes(AT) && text.includes('Permit s3:');
        if (!right) wrong.push(`${n}: ${met()} ended with ${code}: ${text}`);
      }
      expect(wrong).toEqual([]);
      expect([...seen].sort((one, other) => one - other)).toEqual(state === 'begins' ? [0, 65, 74] : [65, 74]);
    },
  );

  test.each(['throttled', 'cut', 'stall'] as const)(
    'each request that meets "%s" once succeeds at the next attempt: the same bytes, and exit 0',
    async (trouble) => {
      fresh.idleMs = trouble === 'stall' ? 60 : 10_000;
      cleanUp(() => void (fresh.idleMs = 10_000));
      for (const turn of sampleOf([0, 1, 2], 1)) {
        s3.contents = states[state] as Contents;
        expect(
          await run(
            Infinity,
            once(trouble, (_, count) => count % 3 === turn),
          ),
        ).toEqual(WHOLE);
        expect(s3.get('bucket/out.csv')).toEqual(expected);
      }
    },
  );

  test('an answer with a flipped bit never leads to an output that differs from the report', { timeout: 240_000 }, async () => {
    const wrong: string[] = [];
    const all = await requests();
    // Many requests are alike, except for the parts, which are read twice. In an uncompressed input only TLS detects a flipped bit.
    const reads = all.filter(
      ({ name }, i) =>
        name.startsWith('GET ') &&
        !name.includes('in.csv') &&
        (name.includes('.partial.RUN.') || all.findIndex((one) => one.name === name) === i),
    );
    const always = reads.find(
      ({ name }) => name === (state === 'resumes' ? 'GET /bucket/out.csv.partial.RUN.1' : 'GET /bucket/out.csv.checkpoint.json.lock'),
    );
    expect(always).toBeDefined();
    for (const { number, name } of new Set([...sampleOf(reads, 2), ...(always === undefined ? [] : [always])])) {
      s3.contents = states[state] as Contents;
      const { code, text } = await run(Infinity, (request) => (request.number === number ? 'flip' : null));
      const output = s3.get('bucket/out.csv');
      const report = JSON.parse(String(s3.get('bucket/out.csv.report.json') ?? 'null')) as { output: { sha256: string } } | null;
      const isRight =
        output === null ||
        (output.equals(expected ?? Buffer.alloc(0)) &&
          (report === null || report.output.sha256 === createHash('sha256').update(output).digest('hex')));
      if (!isRight || code === 70 || (code === 0 && output === null)) wrong.push(`${number}: ${name} ended with ${code}: ${text}`);
    }
    expect(wrong).toEqual([]);
  });
});
