/** Runs jobs in this process against a scripted service, without a process for each shard. */
import { readFile } from 'node:fs/promises';
import { RotatingKey } from '../../../src/client/rotating-key.ts';
import { EXIT, MillraceError } from '../../../src/util/errors.ts';
import { makePlan } from '../../../src/job/commands/plan-command.ts';
import { retryCommand, runCommand } from '../../../src/job/commands/run-command.ts';
import type { CommandContext } from '../../../src/job/commands/run-command.ts';
import type { CompiledJob, Shard } from '../../../src/definition/compiled-job.ts';
import type { Folder } from '../../support/cli.ts';
import { writeInput, type Job } from '../../support/crash-jobs.ts';
import { API_KEY, type ScriptedService } from '../../support/scripted-service.ts';
import { makeFolder, startService } from '../../support/world.ts';
import { compiled } from '../../definition/support.ts';

type More = Readonly<Record<string, string>>;

/** Files that a join must remove. */
export const LEFT = /\.(?:partial|lock|tmp|shards)$|\.shard-/;

export class InProcess {
  readonly folder: Folder;
  readonly service: ScriptedService;
  readonly #flags: More;

  private constructor(folder: Folder, service: ScriptedService, flags: More) {
    this.folder = folder;
    this.service = service;
    this.#flags = flags;
  }

  static async with(job: Job): Promise<InProcess> {
    const [folder, service] = await Promise.all([makeFolder(), startService()]);
    await writeInput(job, folder);
    return new InProcess(folder, service, job.flags);
  }

  run(output: string, shard: Shard | null = null, more: More = {}, fresh = false): Promise<number> {
    return runCommand(this.#job(output, more), { shard, fresh, ...QUIET }, this.#context(NEVER));
  }

  retry(output: string): Promise<number> {
    return retryCommand(this.#job(output, {}), { shard: null, fresh: false, ...QUIET }, this.#context(NEVER));
  }

  plan(output: string, shard: Shard | null = null): ReturnType<typeof makePlan> {
    return makePlan(this.#job(output, {}), {
      matchRate: null,
      apiKey: { state: 'set' },
      shard,
      fresh: false,
      signal: new AbortController().signal,
    });
  }

  /** Runs until `answers` requests have been answered and one has not, and stops then. */
  async runFor(answers: number, output: string, shard: Shard | null): Promise<void> {
    const { script } = this.service;
    let left = answers;
    this.service.script = (asked, response, reply, usual) => {
      if (left-- > 0) script(asked, response, reply, usual);
    };
    const stop = new AbortController();
    const run = runCommand(this.#job(output, {}), { shard, fresh: false, ...QUIET }, this.#context(stop.signal)).catch(
      (error: unknown) => error,
    );
    await this.service.when(() => this.service.answered >= answers && this.service.unanswered.size > 0);
    stop.abort(new MillraceError(EXIT.stopped, 'signalled', 'stopped by the test'));
    await run;
    this.service.script = script;
  }

  #job(output: string, more: More): CompiledJob {
    const { input = '', ...flags } = this.#flags;
    return compiled({
      flags: {
        plan: 'enterprise',
        'max-errors': '100%',
        'checkpoint.everyMs': '50',
        ...flags,
        input: this.folder.at(input),
        output: this.folder.at(output),
        'base-url': this.service.url,
        ...more,
      },
    });
  }

  #context(stop: AbortSignal): CommandContext {
    return {
      access: new Map([['service', { baseUrl: this.service.url, apiKey: new RotatingKey(API_KEY) }]]),
      signals: { drain: stop, abort: stop },
      command: 'millrace run',
      env: {},
    };
  }

  /** The parts of a result that must not depend on the division into shards. */
  async outcome(output: string): Promise<{ readonly bytes: string; readonly lines: unknown; readonly numbers: unknown }> {
    const { records, verification, lookups, exitCode, output: file } = await this.folder.json(`${output}.report.json`);
    const errors = await this.folder.read(`${output}.errors.jsonl`).catch(() => '');
    const lines = errors
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => ({ ...(JSON.parse(line) as object), requestId: null, attempts: null }));
    const numbers = { records, verification, lookups, exitCode, file: { ...(file as object), uri: null } };
    return { bytes: (await readFile(this.folder.at(output))).toString('base64'), lines, numbers };
  }

  async left(): Promise<string[]> {
    return (await this.folder.files()).filter((name) => LEFT.test(name));
  }
}

const NEVER = new AbortController().signal;
const QUIET = { scratch: null, progress: 'none', logLevel: 'info', logFormat: 'json', monitor: null } as const;
