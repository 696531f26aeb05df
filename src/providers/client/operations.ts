/** The operations of a provider, ready to be called: their requests filled in, and a way to each address. */
import type { RecordAnswer } from '../../client/attempt-client.ts';
import { parseBaseUrl, type BaseUrl } from '../../client/base-url.ts';
import { Redactor } from '../../client/redactor.ts';
import type { RotatingKey } from '../../client/rotating-key.ts';
import { Transport, type Wire } from '../../client/transport.ts';
import type { VerificationResult } from '../../client/types.ts';
import { UndiciWire } from '../../client/undici-wire.ts';
import type { ByStep } from '../../steps/registry.ts';
import { packageVersion } from '../../util/package-version.ts';
import type { CompiledProvider, ProviderOperation, ProviderRequest } from '../compiled-provider.ts';
import type { CallWatch } from './call-watch.ts';
import { Credentials } from './credentials.ts';
import { OperationClient, type OperationContext, type Route } from './operation-client.ts';
import { RequestTemplate } from './request-template.ts';
import { storedAnswer } from './stored-answer.ts';
import { readTlsFiles } from './tls-files.ts';
import { toVerdict } from './verdict.ts';

export interface OperationOptions {
  readonly provider: CompiledProvider;
  /** The address that the job names, else that of the definition. */
  readonly baseUrl: string;
  /** The job names the address: then requests with an address of their own go there, too. Default false. */
  readonly isReplaced?: boolean;
  readonly apiKey: RotatingKey;
  /** Until the headers are there, and between two pieces of the body; a whole call takes at most twice as long. */
  readonly timeoutMs: number;
  /** Sockets at most for each address of the provider. */
  readonly connections: number;
  /** A larger answer is unreadable. Default 16 MiB. */
  readonly maxResponseBytes?: number;
  /** Masks the API key in whatever comes back. Default: one of its own. */
  readonly redactor?: Redactor;
  readonly watch?: CallWatch;
  /** Answers in place of the network. Certificates are then not read. */
  readonly wire?: Wire;
}

type Records = OperationClient<RecordAnswer<unknown>>;

export interface Operations {
  /** By step; absent where the provider does not answer the step. */
  readonly records: ByStep<Records>;
  readonly verify: OperationClient<VerificationResult> | null;
  readonly transports: readonly Transport[];
}

/** @throws ConfigError for an address, a certificate or a proxy that cannot work */
export function openOperations(options: OperationOptions): Operations {
  const { provider, apiKey, maxResponseBytes } = options;
  const { redactor = new Redactor(null), watch = null, wire } = options;
  const credentials = new Credentials(provider.authentication, apiKey, redactor);
  const tls = provider.tls === null || wire !== undefined ? null : readTlsFiles(provider.tls);
  const transports = new Map<string, Transport>();
  const transportTo = (base: BaseUrl): Transport => {
    const { timeoutMs, connections } = options;
    const bounds = { timeoutMs, redactor, ...(maxResponseBytes === undefined ? {} : { maxResponseBytes }) };
    const transport = transports.get(base.origin) ?? new Transport(wire ?? new UndiciWire(base, { connections, tls }), bounds);
    transports.set(base.origin, transport);
    return transport;
  };
  const routeOf = (request: ProviderRequest): Route => {
    const own = options.isReplaced === true ? null : request.baseUrl;
    const base = parseBaseUrl(own ?? options.baseUrl);
    const headers = { 'user-agent': `millrace/${packageVersion()}`, ...provider.headers };
    const { idempotencyHeader } = provider;
    return {
      origin: base.origin,
      transport: transportTo(base),
      template: new RequestTemplate({ request, base, credentials, headers, idempotencyHeader }),
    };
  };
  const context: OperationContext = { provider, apiKey, redactor, watch, routeOf };
  const records = (operation: ProviderOperation): Records =>
    new OperationClient(operation, context, (record, { input }, text) => ({
      record,
      text: JSON.stringify(record),
      stored: storedAnswer(operation, input, text),
    }));
  const { verify, ...others } = provider.operations;
  return {
    records: Object.fromEntries(Object.entries(others).map(([step, operation]) => [step, records(operation)])),
    verify:
      verify === undefined
        ? null
        : new OperationClient(verify, context, (record, _said, _text, { email }) => toVerdict(verify.record.key, record, String(email))),
    transports: [...transports.values()],
  };
}
