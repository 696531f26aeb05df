/** Shared by `millrace enrich` and `millrace verify`: reads the keys, opens the service, prints the results. */
import { EXIT, type ExitCode } from '../util/errors.ts';
import { checkOneOffFlags, chooseOneOff } from '../definition/one-off-choice.ts';
import type { GivenKey, OneOffResult } from '../job/commands/one-off.ts';
import { StdoutSink } from '../job/run/stdout-sink.ts';
import type { StopSignals } from '../util/stop-signals.ts';
import { addressIn } from '../verification/clean-keys.ts';
import type { Invocation } from './invocation.ts';
import { keysFrom } from './keys-from.ts';
import { withStopSignals } from './signals.ts';
import { recordTable, verdictTable } from './tables.ts';
import { openProvider, serviceKey } from '../library/provider-access.ts';
import { warn } from './with-service.ts';

type VerdictFields = Readonly<Record<string, unknown>>;

interface Kind {
  readonly step: 'enrich' | 'verify';
  /** The name of a key in messages. */
  readonly what: string;
  /** The JSON field of a key without an answer. */
  readonly name: 'key' | 'email';
  readonly line: (result: OneOffResult & { readonly answer: NonNullable<OneOffResult['answer']> }) => string;
  readonly table: (result: OneOffResult) => string;
}

export const KINDS: Readonly<Record<Kind['step'], Kind>> = {
  enrich: { step: 'enrich', what: 'e-mail address or domain', name: 'key', line: ({ answer }) => answer.text, table: recordTable },
  // The address as it was given, and not the service's form of it.
  verify: {
    step: 'verify',
    what: 'e-mail address',
    name: 'email',
    line: ({ key, answer }) => JSON.stringify({ ...withCleaned(key, answer.record), email: key.text }),
    table: (result) =>
      verdictTable(
        result.answer === null
          ? result
          : { ...result, answer: { ...result.answer, record: withCleaned(result.key, result.answer.record) } },
      ),
  },
};

/** Adds the cleaned address that was asked for, unless the verifier suggests another one. */
function withCleaned({ text }: GivenKey, record: VerdictFields): VerdictFields {
  const found = text === null ? null : addressIn(text);
  return found?.cleaned === true && typeof record['did_you_mean'] !== 'string' ? { ...record, did_you_mean: found.key } : record;
}

const NOTHING_LEFT = 'What was answered has been printed; nothing more was asked for.';

/** Prints results as they come, and counts keys without an answer. */
export class Printer {
  readonly pipe = new StdoutSink('Whoever read it stopped reading: nothing more was asked for.');
  readonly #kind: Kind;
  readonly #asTable: boolean;
  #all = 0;
  #unanswered = 0;

  constructor(kind: Kind, { flags }: Invocation) {
    this.#kind = kind;
    this.#asTable = process.stdout.isTTY && flags.get('json') !== true;
  }

  write(result: OneOffResult): void {
    this.#all++;
    if (result.outcome === 'failed' || result.outcome === 'invalid') this.#unanswered++;
    this.pipe.write(this.#asTable ? `${this.#kind.table(result)}\n\n` : `${this.#toLine(result)}\n`);
  }

  /** Reports keys without an answer: the exit code is 1 when there are some. */
  async finish(): Promise<ExitCode> {
    await this.pipe.drained();
    if (this.#unanswered === 0) return EXIT.ok;
    process.stderr.write(`millrace: ${this.#unanswered} of ${this.#all} could not be looked up\n`);
    return EXIT.tooManyFailed;
  }

  #toLine({ key, outcome, error, answer }: OneOffResult): string {
    if (answer !== null) return this.#kind.line({ key, outcome, error, answer });
    return JSON.stringify({ [this.#kind.name]: key.text, ...(key.text === null ? { line: key.place } : {}), outcome, error });
  }
}

/** Runs `work` over the keys; a signal ends it at once where it waits for more of them. */
export async function withKeys(
  kind: Kind,
  invocation: Invocation,
  work: (keys: AsyncGenerator<GivenKey>, printer: Printer, signals: StopSignals) => Promise<void>,
): Promise<ExitCode> {
  const keys = keysFrom(invocation.keys, kind.what, process.stdin);
  return withStopSignals(async (signals) => {
    const printer = new Printer(kind, invocation);
    try {
      await work(keys, printer, signals);
      return await printer.finish();
    } finally {
      // The process ends even while another one still writes to its standard input.
      process.stdin.destroy();
    }
  }, NOTHING_LEFT);
}

/** Asks the configured service for each key. @param own flags of the command itself */
export async function askService(kind: Kind, invocation: Invocation, own: readonly string[]): Promise<ExitCode> {
  checkOneOffFlags(kind.step, invocation.flags, own);
  return withKeys(kind, invocation, async (keys, printer, signals) => {
    const flags = new Map([...invocation.flags].filter(([flag]) => !own.includes(flag)));
    const { settings, warnings } = chooseOneOff(invocation.env, flags);
    const notify = (text: string): void => void process.stderr.write(`millrace: ${text}\n`);
    // The warning of a default pace matters to long lists only.
    if (invocation.keys.includes('-')) warnings.forEach(notify);
    const apiKey = await serviceKey(settings.service, invocation.env, warn);
    const { lookUpKeys } = await import('../job/commands/one-off.ts');
    const service = await openProvider(settings.service, apiKey);
    try {
      await lookUpKeys(keys, {
        settings,
        step: kind.step,
        service,
        write: (result) => printer.write(result),
        room: () => printer.pipe.room(),
        notify,
        signals,
      });
    } finally {
      await service.close();
    }
  });
}
