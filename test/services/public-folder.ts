import { statSync } from 'node:fs';
import { mkdtemp, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Where servers that give up root's rights can reach what a test leaves for them. */
const PLACES = [tmpdir(), '/tmp', '/var/tmp'];

/**
 * A folder that every user can enter: TMPDIR may be root's own. The caller removes it.
 * @throws Error when there is no place for one
 */
export async function makePublicFolder(prefix: string): Promise<string> {
  const place = PLACES.find(everybodyEnters);
  if (place === undefined) throw new Error(`no folder for all users among ${PLACES.join(', ')}`);
  const folder = await mkdtemp(join(place, prefix));
  await chmod(folder, 0o755);
  return folder;
}

/** Whether all folders on the way there can be passed by anybody. */
function everybodyEnters(path: string): boolean {
  const { mode } = statSync(path, { throwIfNoEntry: false }) ?? { mode: 0 };
  return (mode & 0o001) !== 0 && (dirname(path) === path || everybodyEnters(dirname(path)));
}
