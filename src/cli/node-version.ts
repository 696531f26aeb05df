/**
 * Checks the version of Node. An old Node must be able to load this file: syntax that Node 12 parses (no `?.`, no `??`), and no imports.
 */

export const NEEDED_NODE = 24;

/** The message for a Node `version` (such as `18.20.4`) that is too old; null when it is new enough. */
export function oldNodeMessage(version: string): string | null {
  const major = Number(version.split('.')[0]);
  if (major >= NEEDED_NODE) return null;
  return (
    'millrace: Node ' +
    NEEDED_NODE +
    ' or newer is needed; this is Node ' +
    version +
    '.\n' +
    '  `npm ci` in the project brings one with it: use `npx millrace ...` or the npm scripts, which take it.\n'
  );
}
