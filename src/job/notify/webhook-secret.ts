/** The secret that signs messages: `MILLRACE_WEBHOOK_SECRET`, or a file that `MILLRACE_WEBHOOK_SECRET_FILE` names. */
import { readFile } from 'node:fs/promises';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { ConfigError } from '../../util/errors.ts';

const NAME = 'MILLRACE_WEBHOOK_SECRET';
/** Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
const SECRET = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/;

/** Null when the job sends nothing that is signed. @throws ConfigError when the secret is missing or unusable; no message shows it */
export async function readWebhookSecret(
  { onFinish, onTrouble }: Pick<CompiledJob, 'onFinish' | 'onTrouble'>,
  env: NodeJS.ProcessEnv,
): Promise<Uint8Array | null> {
  if (onFinish?.format !== 'standard' && onTrouble?.format !== 'standard') return null;
  const file = env[`${NAME}_FILE`];
  const text = env[NAME]?.trim() || (file ? await readSecretFile(file) : '');
  const hint = `Set ${NAME}, or ${NAME}_FILE to a file that holds it: whsec_ and 24 to 64 random bytes in base64.`;
  if (text === '')
    throw new ConfigError('no_webhook_secret', 'onFinish and onTrouble sign their messages, and there is no secret', { hint });
  const bytes = Buffer.from(SECRET.exec(text)?.[1] ?? '', 'base64');
  if (bytes.length < 24 || bytes.length > 64)
    throw new ConfigError('bad_webhook_secret', `the secret in ${NAME} is no secret of Standard Webhooks`, { hint });
  return bytes;
}

async function readSecretFile(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    throw new ConfigError(
      'webhook_secret_file',
      `${NAME}_FILE names ${path}, which cannot be read: ${(error as NodeJS.ErrnoException).code}`,
    );
  }
}
