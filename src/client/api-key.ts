/** Where the API key comes from, and what a key may look like. No message here ever prints one. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { ConfigError } from '../util/errors.ts';
import { checkApiKey } from './check-api-key.ts';

/** A key file is one line; larger than this it is some other file. */
export const MAX_KEY_FILE_BYTES = 16 * 1024;

/** The variable with the API key of a job's one service. */
export const API_KEY = 'MILLRACE_API_KEY';

/**
 * The API key from `MILLRACE_API_KEY`, else from the file that `MILLRACE_API_KEY_FILE` names; null when neither is set. An empty variable
 * counts as not set. With both set the variable wins: the file usually belongs to the deployment, the variable to the one who starts this
 * run.
 *
 * @param variable of a named provider, in place of `MILLRACE_API_KEY`
 * @throws ConfigError `api_key_file` (missing, unreadable, empty, too large; names the file) or `bad_api_key`.
 */
export async function readApiKey(env: NodeJS.ProcessEnv, variable = API_KEY): Promise<string | null> {
  const direct = env[variable]?.trim();
  if (direct) return checkApiKey(direct, variable);
  const file = env[`${variable}_FILE`];
  return file ? readKeyIn(file, variable) : null;
}

/**
 * Returns a function that reads the key again from its file; null for a key from the environment, which does not change. The function
 * throws as `readApiKey` does.
 */
export function keyFileReader(env: NodeJS.ProcessEnv, variable = API_KEY): (() => Promise<string>) | null {
  const file = env[`${variable}_FILE`];
  return env[variable]?.trim() || !file ? null : () => readKeyIn(file, variable);
}

async function readKeyIn(file: string, variable: string): Promise<string> {
  const key = (await readKeyFile(file, variable)).trim();
  if (key === '') throw badFile(variable, file, 'is empty');
  return checkApiKey(key, `the key in ${file}`);
}

async function readKeyFile(path: string, variable: string): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    // Non-blocking (where the system knows it): opening a pipe without a writer would wait without end.
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stat = await handle.stat();
    if (!stat.isFile()) throw badFile(variable, path, 'is not a regular file');
    if (stat.size > MAX_KEY_FILE_BYTES) throw badFile(variable, path, `is larger than ${MAX_KEY_FILE_BYTES} bytes: not a key file`);
    const buffer = Buffer.alloc(MAX_KEY_FILE_BYTES);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    throw badFile(variable, path, code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'unknown error'})`, error);
  } finally {
    await handle?.close();
  }
}

function badFile(variable: string, path: string, what: string, cause?: unknown): ConfigError {
  return new ConfigError('api_key_file', `${variable}_FILE: ${path} ${what}`, {
    hint: 'The file holds the API key and nothing else.',
    ...(cause === undefined ? {} : { cause }),
  });
}
