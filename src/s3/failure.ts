/** Classifies failures of S3, and words them for the user. */
import { ConfigError, EXIT, InputError, MillraceError, StorageError } from '../util/errors.ts';

type S3Fault =
  | 'no_bucket'
  | 'no_object'
  /** These credentials may not use the bucket or object. */
  | 'denied'
  /** The object is in an archive class (Glacier) and not restored. */
  | 'archived'
  /** The credentials are missing, wrong or expired. */
  | 'credentials'
  | 'region'
  | 'endpoint'
  /** The condition `If-Match` or `If-None-Match` failed. */
  | 'changed'
  /** The server lacks the feature. */
  | 'unsupported'
  /** Another 4xx. */
  | 'refused'
  /** Slow down, 5xx, timeouts, lost connections: worth another attempt. */
  | 'passing';

/** Error codes of S3 (API reference, "Error responses") and of the SDK. */
const BY_NAME: Readonly<Record<string, S3Fault>> = {
  NoSuchBucket: 'no_bucket',
  NoSuchKey: 'no_object',
  NotFound: 'no_object',
  NoSuchUpload: 'no_object',
  AccessDenied: 'denied',
  AllAccessDisabled: 'denied',
  Forbidden: 'denied',
  InvalidObjectState: 'archived',
  CredentialsProviderError: 'credentials',
  TokenProviderError: 'credentials',
  InvalidAccessKeyId: 'credentials',
  SignatureDoesNotMatch: 'credentials',
  ExpiredToken: 'credentials',
  ExpiredTokenException: 'credentials',
  InvalidToken: 'credentials',
  TokenRefreshRequired: 'credentials',
  PermanentRedirect: 'region',
  AuthorizationHeaderMalformed: 'region',
  IllegalLocationConstraintException: 'region',
  PreconditionFailed: 'changed',
  NotImplemented: 'unsupported',
  // Another write of the object was under way.
  ConditionalRequestConflict: 'passing',
  // The bytes were corrupted on the way.
  BadDigest: 'passing',
  RequestTimeout: 'passing',
  RequestTimeTooSkewed: 'passing',
};

interface SdkError {
  readonly name?: string;
  readonly message?: string;
  readonly code?: string;
  readonly Region?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly statusCode?: number; readonly headers?: Readonly<Record<string, string>> };
}

export function faultOf(error: unknown): S3Fault {
  const { name = '', message = '', code = '', $metadata, $response } = error as SdkError;
  const known = BY_NAME[name];
  if (known !== undefined) return known;
  if (/^Region (is missing|not accepted)/.test(message)) return 'region';
  if (code === 'ERR_INVALID_URL') return 'endpoint';
  const status = $metadata?.httpStatusCode ?? $response?.statusCode ?? 0;
  switch (status) {
    case 301:
    case 307:
      return 'region';
    case 401:
    case 403:
      return 'denied';
    case 404:
      return 'no_object';
    case 408:
    case 429:
      return 'passing';
    case 412:
      return 'changed';
    case 501:
      return 'unsupported';
    default:
      return status >= 400 && status < 500 ? 'refused' : 'passing';
  }
}

/** The region of the bucket, where the error names it (API reference, "HeadBucket" and "Error responses"), else undefined. */
export function regionIn(error: unknown): string | undefined {
  const { Region, $response } = error as SdkError;
  return Region ?? $response?.headers?.['x-amz-bucket-region'];
}

/** The message of S3, shortened. */
export function saidBy(error: unknown): string {
  const { name = '', message = '', code, $metadata } = error as SdkError;
  const status = $metadata?.httpStatusCode;
  const parts = [code ?? name, ...(status === undefined ? [] : [`HTTP ${status}`])].filter((part) => part !== '');
  const text = message === '' || message === 'UnknownError' ? '' : `: ${message}`;
  return `${parts.join(', ')}${text}`;
}

/** The error that ends the run after a failed read. `uri` is the object or prefix as the user calls it. */
export function inputError(error: unknown, uri: string): MillraceError {
  if (error instanceof MillraceError) return error;
  const fault = faultOf(error);
  const said = saidBy(error);
  const options = (hint: string): { hint: string; cause: unknown } => ({ hint, cause: error });
  switch (fault) {
    case 'no_bucket':
      return new InputError(
        'input_missing',
        `There is no bucket for the input ${uri}.`,
        options('Check the name after s3://, and that the endpoint (AWS_ENDPOINT_URL) is the right one.'),
      );
    case 'no_object':
      return new InputError('input_missing', `There is no input ${uri}.`, options('Check --input, or set input.ifMissing to succeed.'));
    case 'denied':
      return new InputError(
        'input_unreadable',
        `The input ${uri} may not be read (${said}).`,
        options('Permit s3:GetObject on it and s3:ListBucket on its bucket: without the latter a missing object is denied too.'),
      );
    case 'archived':
      return new InputError(
        'input_unreadable',
        `The input ${uri} is archived (${said}).`,
        options('Restore it to a class that can be read at once, then run again.'),
      );
    case 'changed':
      return new InputError(
        'input_changed',
        `The input ${uri} changed while the job was under way: its ETag is another.`,
        options('Put it back as it was and run again, or start over with --fresh: what was paid for is in the ledger.'),
      );
    case 'refused':
    case 'unsupported':
      return new InputError(
        'input_unreadable',
        `The input ${uri} cannot be read (${said}).`,
        options('Check the name, the endpoint and the region.'),
      );
    case 'passing':
      return new StorageError(
        'input_read_failed',
        `Reading ${uri} failed (${said}).`,
        options(`${waitFor(error)}; then run the same command: it resumes.`),
      );
    case 'credentials':
    case 'region':
    case 'endpoint':
      return accountError(fault, error, uri);
    default:
      return fault satisfies never;
  }
}

/** A failed write, or a failed read of a job's own object, with its remedy. `uri` is the object as the user calls it. */
export class S3Failure extends Error {
  override readonly name = 'S3Failure';
  /** A sentence without its full stop, for `storageHint`. */
  readonly remedy: string;

  constructor(message: string, remedy: string, cause: unknown) {
    super(message, { cause });
    this.remedy = remedy;
  }
}

/**
 * An error that ends the run for credentials, region and endpoint. Any other failure is an S3Failure; the caller adds what the object was
 * for.
 */
export function objectError(error: unknown, uri: string): Error {
  if (error instanceof MillraceError || error instanceof S3Failure) return error;
  const fault = faultOf(error);
  switch (fault) {
    case 'credentials':
    case 'region':
    case 'endpoint':
      return accountError(fault, error, uri);
    case 'no_bucket':
      return new S3Failure(`there is no such bucket (${saidBy(error)})`, 'Make the bucket, or check its name and AWS_ENDPOINT_URL', error);
    case 'denied':
      return new S3Failure(
        `S3 does not permit it (${saidBy(error)})`,
        'Permit s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload beside the output, and s3:ListBucket on its bucket',
        error,
      );
    case 'no_object':
    case 'archived':
    case 'changed':
    case 'refused':
    case 'unsupported':
      return new S3Failure(`S3 refused it (${saidBy(error)})`, 'Check the bucket, AWS_ENDPOINT_URL and AWS_REGION', error);
    case 'passing':
      return new S3Failure(`S3 did not answer (${saidBy(error)})`, waitFor(error), error);
    default:
      return fault satisfies never;
  }
}

/** The error of a ledger. @param what the operation that failed */
export function ledgerError(error: unknown, uri: string, what: 'read' | 'written'): MillraceError {
  if (error instanceof MillraceError) return error;
  const fault = faultOf(error);
  if (fault === 'credentials' || fault === 'region' || fault === 'endpoint') return accountError(fault, error, uri);
  const hint: Readonly<Record<typeof fault, string>> = {
    no_bucket: 'Check the name after s3://, and that the endpoint (AWS_ENDPOINT_URL) is the right one',
    no_object: 'Put it back',
    denied: 'Permit s3:GetObject and s3:PutObject on what lies below it, and s3:ListBucket on its bucket',
    archived: 'Restore it to a class that can be read at once',
    changed: 'See what else writes there',
    refused: 'Check the name, the endpoint and the region',
    unsupported: 'Choose another server',
    passing: waitFor(error),
  };
  return new StorageError('ledger_failed', `The ledger ${uri} could not be ${what} (${saidBy(error)}).`, {
    hint: `${hint[fault]}; then run the same command: the job resumes.`,
    cause: error,
  });
}

/** The remedy of a fault that passes, without a full stop. */
function waitFor(error: unknown): string {
  if ((error as SdkError).name === 'RequestTimeTooSkewed')
    return "Set this machine's clock: it differs from that of S3 by more than 15 min";
  return 'Wait until S3 answers; for a server of your own, check AWS_ENDPOINT_URL';
}

/** Errors of the account or its configuration, whatever the operation was. */
function accountError(fault: 'credentials' | 'region' | 'endpoint', error: unknown, uri: string): MillraceError {
  const said = saidBy(error);
  switch (fault) {
    case 'credentials':
      return new MillraceError(EXIT.refused, 's3_credentials', `S3 has no valid credentials for ${uri} (${said}).`, {
        hint:
          'Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give ' +
          'the pod or machine a role; then run the same command: the job resumes.',
        cause: error,
      });
    case 'region': {
      const right = regionIn(error);
      return new ConfigError('s3_region', `The region for ${uri} is missing or wrong (${said}).`, {
        hint: `Set AWS_REGION${right === undefined ? ' to the region of the bucket' : `=${right}`}.`,
        cause: error,
      });
    }
    case 'endpoint':
      return new ConfigError('s3_endpoint', `The endpoint for ${uri} is no URL (${said}).`, {
        hint: 'Write AWS_ENDPOINT_URL whole, such as https://s3.example.com.',
        cause: error,
      });
    default:
      return fault satisfies never;
  }
}
