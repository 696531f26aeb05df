/** A service that refuses some keys, so that they fail at once. */
import { createHash } from 'node:crypto';
import { problem, type Asked, type Script } from './scripted-service.ts';

/** Chooses one in `share` of all keys, always the same ones; another `salt` chooses others. */
export function oneIn(share: number, salt = ''): (key: string) => boolean {
  return (key) =>
    createHash('sha256')
      .update(salt + key)
      .digest()
      .readUInt32BE(4) %
      share ===
    0;
}

/** A verify request that contains a refused key is refused as a whole, like the specification's 422. */
export function refusing(fails: (key: string, path: Asked['path']) => boolean): Script {
  return ({ path, keys }, _response, reply, usual) =>
    reply(keys.some((key) => fails(key, path)) ? problem(422, 'validation_failed') : usual());
}
