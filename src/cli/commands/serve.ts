/** `millrace serve` */
import { EXIT, UsageError } from '../../util/errors.ts';
import type { ExitCode } from '../../util/errors.ts';
import { LOG_LEVELS } from '../../definition/run-options.ts';
import { monitorAddress, type MonitorAddress } from '../../telemetry/listen-address.ts';
import { checkFlags, textOf, wordOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';
import { onUpgradeSignal, withStopSignals } from '../signals.ts';
import { SERVE_MAIL_FLAGS, serveMail } from '../mail-flags.ts';

/** Regions of the service; a key belongs to one. */
const REGIONS = ['us', 'eu', 'apac'] as const;
const MAX_PORT = 65_535;
const MAX_LATENCY_MS = 600_000;
const MAX_SEED = 2 ** 32 - 1;

/** Serves until a signal comes; then requests in flight are answered. */
export async function serveFromFlags(invocation: Invocation): Promise<ExitCode> {
  checkFlags('serve', invocation);
  const stray = SERVE_MAIL_FLAGS.find((flag) => invocation.flags.has(flag));
  if (stray !== undefined && invocation.flags.get('sample') === true)
    throw new UsageError('bad_value', `--${stray} does not go with --sample, which has a world of mail of its own`);
  const text = (flag: string): string | null => textOf(invocation, flag);
  const whole = (flag: string, fallback: number, max: number): number => numberOf(flag, text(flag), fallback, max, /^\d{1,10}$/);
  const rate = (flag: string): number => numberOf(flag, text(flag), 0, 1, /^\d?\.?\d{1,12}$/);
  const settings = {
    host: text('host') ?? '127.0.0.1',
    port: whole('port', 8080, MAX_PORT),
    store: text('store'),
    region: wordOf(invocation, 'region', REGIONS) ?? 'us',
    sample: invocation.flags.get('sample') === true,
    development: invocation.flags.get('development') === true,
    takeOver: invocation.flags.get('take-over') === true,
    mail: serveMail(invocation),
    faults: {
      latencyMs: whole('latency-ms', 0, MAX_LATENCY_MS),
      latencyJitterMs: whole('latency-jitter-ms', 0, MAX_LATENCY_MS),
      errorRate: rate('error-rate'),
      throttleRate: rate('throttle-rate'),
      dropRate: rate('drop-rate'),
      hangRate: rate('hang-rate'),
      seed: whole('fault-seed', 1, MAX_SEED),
    },
    monitor: monitorOf(text('monitor'), invocation.env),
    // A terminal shows problems only; a line for each request is for a log.
    logLevel: wordOf(invocation, 'log-level', LOG_LEVELS) ?? (process.stderr.isTTY ? 'warn' : 'info'),
  };
  const service = await import('../../service/admin/serve-command.ts');
  await withStopSignals(
    (signals) => service.serve(settings, { ...signals, onUpgrade: onUpgradeSignal }),
    'What was in flight was cut off; what was answered is in the store.',
  );
  return EXIT.ok;
}

function monitorOf(text: string | null, env: NodeJS.ProcessEnv): MonitorAddress | null {
  if (text === null) return null;
  const address = monitorAddress(text, env);
  if (address === null)
    throw new UsageError('bad_value', `--monitor must be a port, or HOST:PORT, got ${JSON.stringify(text.slice(0, 80))}`);
  return address;
}

function numberOf(flag: string, text: string | null, fallback: number, max: number, shape: RegExp): number {
  if (text === null) return fallback;
  const value = Number(text);
  if (shape.test(text) && value <= max) return value;
  const kind = max === 1 ? 'a number from 0 to 1' : `a whole number from 0 to ${max}`;
  throw new UsageError('bad_value', `--${flag} must be ${kind}, got ${JSON.stringify(text.slice(0, 80))}`);
}
