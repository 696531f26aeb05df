/** The Ruby of the tests: that of the machine, else Debian's. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { lackingPackages } from '../../test/services/debian.ts';
import type { Runner } from './runner.ts';

const run = promisify(execFile);

/** The first version that has the hash shorthand `{name:}`; Debian 12 has it. */
const LEAST = '3.1';

/** Null when Ruby is there, else why it is not. Tests that start at once wait for one installation. */
export function lackingRuby(): Promise<string | null> {
  checked ??= check();
  return checked;
}

let checked: Promise<string | null> | undefined;

async function check(): Promise<string | null> {
  const isNew = `exit(Gem::Version.new(RUBY_VERSION) >= Gem::Version.new("${LEAST}"))`;
  const works = (): Promise<boolean> => run('ruby', ['-e', isNew]).then(Boolean, () => false);
  const lacks = await lackingPackages(['ruby'], ['ruby', 'gem'], works);
  return lacks === null ? null : `Ruby ${LEAST} or later: ${lacks}`;
}

export async function rubyRunner(library: string): Promise<Runner | string> {
  const lacks = await lackingRuby();
  return lacks ?? { command: 'ruby', args: ['-w', '--disable-gems', 'conformance.rb'], cwd: library };
}
