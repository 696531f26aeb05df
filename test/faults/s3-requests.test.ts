/**
 * Every S3 request of a whole job, each denied, throttled, cut and stalled in turn: a job that begins, and one that resumes,
 * with input, output, ledger, checkpoint and lock in S3. In this process, so that waits can be short.
 */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { describeFailure } from '../../src/cli/failure.ts';
import { RotatingKey } from '../../src/client/rotating-key.ts';
import { EXIT, MillraceError } from '../../src/errors.ts';
import { runCommand } from '../../src/job/run-command.ts';
import { s3Client } from '../../src/s3/client.ts';
import { PATIENCE } from '../../src/s3/patience.ts';
import { S3Storage } from '../../src/storage/s3-storage.ts';
import { compiled } from '../job/definition/support.ts';
import { s3Environment } from '../s3/bucket.ts';
import { S3StandIn, type Contents, type Requested, type Trouble } from '../s3/stand-in.ts';
import { cleanUp } from '../support/clean-up.ts';
import { Folder } from '../support/cli.ts';
import { SAMPLE_SEED, sampleOf } from '../support/sample.ts';
import { API_KEY, ScriptedService } from '../support/scripted-service.ts';

/** A run is a process of its own, and has learnt nothing of S3 from the one before. Where requests stall, an attempt stands still after a moment; elsewhere a loaded machine may take as long. */
const fresh = vi.hoisted(() => ({ storage: null as unknown, idleMs: 10_000 }));

/** What waits is not what is tested: the next attempt comes at once. */
vi.mock(import('../../src/s3/patience.ts'), async (original) => {
  const short = { attempts: 8, baseMs: 1, capMs: 2, get idleMs() { return fresh.idleMs; } };
  return { ...(await original()), PATIENCE: short, LOCK_PATIENCE: short };
});

vi.mock(import('../../src/storage/s3-storage.ts'), async (original) => ({ ...(await original()), s3Storage: async () => fresh.storage as S3Storage, stopWaiting: () => undefined }));

const INPUT = `name,email\n${['a@works.example', 'b@works.example', 'no address', 'c@works.example', 'd@works.example'].map((email, i) => `Person ${i},${email}\n`).join('')}`;
const AT = 's3://bucket/';
const WHOLE = { code: 0, text: '' };

let s3: S3StandIn;
let folder: Folder;
let service: ScriptedService;
let expected: Buffer | null = null;
/** Before a run: nothing but the input; or what a run left that was stopped half-way. */
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

/** On a machine that has nothing of the job. @param stopAfter the run is told to stop at that many requests of the service */
async function run(stopAfter = Infinity, troubleFor: S3StandIn['troubleFor'] = () => null): Promise<{ readonly code: number; readonly text: string }> {
  await rm(folder.at('scratch'), { recursive: true, force: true });
  fresh.storage = new S3Storage({ client: await s3Client(), patience: PATIENCE });
  s3.requests.length = 0;
  s3.troubleFor = troubleFor;
  service.forget();
  const stop = new AbortController();
  service.script = ({ number }, _response, reply, usual) => {
    if (number === stopAfter) stop.abort(new MillraceError(EXIT.stopped, 'signalled', 'stopped by the test'));
    reply(usual());
  };
  const job = compiled({ flags: { plan: 'enterprise', concurrency: '1', 'max-errors': '100%', steps: 'enrich', 'base-url': service.url, input: `${AT}in.csv`, output: `${AT}out.csv`, ledger: `${AT}ledger` } });
  try {
    const options = { shard: null, fresh: false, progress: 'none', logLevel: 'error', scratch: folder.at('scratch'), monitor: null } as const;
    return { code: await runCommand(job, options, { baseUrl: service.url, apiKey: new RotatingKey(API_KEY), drain: stop.signal, abort: new AbortController().signal }), text: '' };
  } catch (error) {
    const { exitCode, text } = describeFailure(error, false);
    return { code: exitCode, text };
  } finally {
    s3.troubleFor = () => null;
  }
}

/** A request and each repetition of it meet the same. */
function always(first: number, trouble: Trouble): { troubleFor: S3StandIn['troubleFor']; met: () => string } {
  let met = '';
  return { met: () => met, troubleFor: ({ number, name }) => (number >= first && (met === '' || met === name) ? ((met = name), trouble) : null) };
}

/** The first attempt at each request of which this is true meets it, and the next one does not. */
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

describe.each(['begins', 'resumes'])(`of a job that %s (SAMPLE_SEED=${SAMPLE_SEED})`, (state) => {
  async function requests(): Promise<Requested[]> {
    s3.contents = states[state] as Contents;
    expect(await run()).toEqual(WHOLE);
    return [...s3.requests];
  }

  test('each request that is denied for good ends the run with 74 or 65, in words that name the object and the remedy; what only clears up is let be', { timeout: 240_000 }, async () => {
    const all = await requests();
    const clearsUpFrom = all.findLast(({ name }) => name === 'PUT /bucket/out.csv.checkpoint.json')?.number ?? 0;
    const wrong: string[] = [];
    const seen = new Set<number>();
    // A job that resumes makes the same requests as any other once it has begun.
    const last = state === 'begins' ? all.length : all.findIndex(({ name }) => name.startsWith('PUT /bucket/out.csv.partial.RUN')) + 1;
    const input = all.findIndex(({ name }) => name.startsWith('GET ') && name.includes('in.csv')) + 1;
    // The first and the last, and one of the input, end in each of the ways; of the others some are drawn.
    for (const n of new Set([1, input, last, ...sampleOf(all.slice(0, last), 12).map(({ number }) => number)])) {
      s3.contents = states[state] as Contents;
      const { troubleFor, met } = always(n, 'denied');
      const { code, text } = await run(Infinity, troubleFor);
      seen.add(code);
      // Whether something is there is asked in two ways, and one that says that it is not suffices.
      const mayPass = n > clearsUpFrom || met().startsWith('HEAD ');
      const right = code === 0 ? mayPass && s3.get('bucket/out.csv')?.equals(expected ?? Buffer.alloc(0)) === true : code === (met().includes('in.csv') ? 65 : 74) && text.includes(AT) && text.includes('Permit s3:');
      if (!right) wrong.push(`${n}: ${met()} ended with ${code}: ${text}`);
    }
    expect(wrong).toEqual([]);
    expect([...seen].sort((one, other) => one - other)).toEqual(state === 'begins' ? [0, 65, 74] : [65, 74]);
  });

  test.each(['throttled', 'cut', 'stall'] as const)('each request that meets "%s" once passes: the same bytes, and exit 0', { timeout: 120_000 }, async (trouble) => {
    fresh.idleMs = trouble === 'stall' ? 60 : 10_000;
    cleanUp(() => void (fresh.idleMs = 10_000));
    for (const turn of sampleOf([0, 1, 2], 1)) {
      s3.contents = states[state] as Contents;
      expect(await run(Infinity, once(trouble, (_, count) => count % 3 === turn))).toEqual(WHOLE);
      expect(s3.get('bucket/out.csv')).toEqual(expected);
    }
  });

  test('an answer with a wrong bit never becomes an output that is not what the report says', { timeout: 240_000 }, async () => {
    const wrong: string[] = [];
    const all = await requests();
    // Many requests are alike, but for the parts, which are read twice. Of an input that is not compressed nothing but TLS can tell.
    const reads = all.filter(({ name }, i) => name.startsWith('GET ') && !name.includes('in.csv') && (name.includes('.partial.RUN.') || all.findIndex((one) => one.name === name) === i));
    const always = reads.find(({ name }) => name === (state === 'resumes' ? 'GET /bucket/out.csv.partial.RUN.1' : 'GET /bucket/out.csv.checkpoint.json.lock'));
    expect(always).toBeDefined();
    for (const { number, name } of new Set([...sampleOf(reads, 5), ...(always === undefined ? [] : [always])])) {
      s3.contents = states[state] as Contents;
      const { code, text } = await run(Infinity, (request) => (request.number === number ? 'flip' : null));
      const output = s3.get('bucket/out.csv');
      const report = JSON.parse(String(s3.get('bucket/out.csv.report.json') ?? 'null')) as { output: { sha256: string } } | null;
      const isRight = output === null || (output.equals(expected ?? Buffer.alloc(0)) && (report === null || report.output.sha256 === createHash('sha256').update(output).digest('hex')));
      if (!isRight || code === 70 || (code === 0 && output === null)) wrong.push(`${number}: ${name} ended with ${code}: ${text}`);
    }
    expect(wrong).toEqual([]);
  });
});
