import { statSync } from 'node:fs';
import { mkdtemp, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Folders that servers without root's rights can reach. */
const PLACES = [tmpdir(), '/tmp', '/var/tmp'];

/** A folder that every user can enter; TMPDIR may be root's own. The caller removes it. @throws Error when no such place exists */
export async function makePublicFolder(prefix: string): Promise<string> {
  const place = PLACES.find(everybodyEnters);
  if (place === undefined) throw new Error(`no folder for all users among ${PLACES.join(', ')}`);
  const folder = await mkdtemp(join(place, prefix));
  await chmod(folder, 0o755);
  return folder;
}

/** True when every user can pass all folders of the path. */
function everybodyEnters(path: string): boolean {
  const { mode } = statSync(path, { throwIfNoEntry: false }) ?? { mode: 0 };
  return (mode & 0o001) !== 0 && (dirname(path) === path || everybodyEnters(dirname(path)));
}
