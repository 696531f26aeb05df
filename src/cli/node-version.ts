/**
 * Which Node may run Millrace. Loaded before the version is known to be enough, so: plain syntax that Node 12 parses
 * (no `?.`, no `??`), and no imports.
 */

export const NEEDED_NODE = 24;

/** What to say to whoever runs `version` (such as `18.20.4`), or null when it is new enough. */
export function oldNodeMessage(version: string): string | null {
  const major = Number(version.split('.')[0]);
  if (major >= NEEDED_NODE) return null;
  return (
    'millrace: Node ' + NEEDED_NODE + ' or newer is needed; this is Node ' + version + '.\n' +
    '  `npm ci` in the project brings one with it: use `npx millrace ...` or the npm scripts, which take it.\n'
  );
}
