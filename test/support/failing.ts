/** A service that refuses some of the keys it is asked for, so that they fail at once. */
import { createHash } from 'node:crypto';
import { problem, type Asked, type Script } from './scripted-service.ts';

/** One in `share` of all keys, always the same ones; `salt` chooses others. */
export function oneIn(share: number, salt = ''): (key: string) => boolean {
  return (key) => createHash('sha256').update(salt + key).digest().readUInt32BE(4) % share === 0;
}

/** A verify request that holds one of them is refused whole, as the specification's 422 is. */
export function refusing(fails: (key: string, path: Asked['path']) => boolean): Script {
  return ({ path, keys }, _response, reply, usual) => reply(keys.some((key) => fails(key, path)) ? problem(422, 'validation_failed') : usual());
}
