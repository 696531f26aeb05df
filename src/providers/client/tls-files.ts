/** Reads the certificates of a provider. */
import { readFileSync, statSync } from 'node:fs';
import type { TlsFiles } from '../../client/dispatcher.ts';
import { ConfigError } from '../../util/errors.ts';
import type { ProviderTls } from '../compiled-provider.ts';

/** A bundle of all public authorities has about 250 KiB. */
const MAX_PEM_BYTES = 4 * 1024 * 1024;

/** @throws ConfigError `tls_file`, naming the key and the file */
export function readTlsFiles({ caFile, certFile, keyFile }: ProviderTls): TlsFiles {
  return { ca: readPem('tls.caFile', caFile), cert: readPem('tls.certFile', certFile), key: readPem('tls.keyFile', keyFile) };
}

function readPem(key: string, file: string | null): Buffer | null {
  if (file === null) return null;
  try {
    const stat = statSync(file);
    if (!stat.isFile()) throw bad(key, file, 'is not a regular file');
    if (stat.size > MAX_PEM_BYTES) throw bad(key, file, `is larger than ${MAX_PEM_BYTES} bytes`);
    const pem = readFileSync(file);
    // Node takes a file without any certificate for an empty list, and then trusts nobody.
    if (!pem.includes('-----BEGIN ')) throw bad(key, file, 'is not a PEM file');
    return pem;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw bad(key, file, code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`, error);
  }
}

function bad(key: string, file: string, what: string, cause?: unknown): ConfigError {
  const options = {
    hint: 'Expected a file that begins with -----BEGIN CERTIFICATE-----, or with the key.',
    ...(cause === undefined ? {} : { cause }),
  };
  return new ConfigError('tls_file', `${key}: ${file} ${what}`, options);
}
