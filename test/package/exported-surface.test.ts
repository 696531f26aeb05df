/** The declarations of everything that the package exports, as recorded: a change of them is a change for users. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
const EXPORT = /^export (?:type )?(?:\{ ([^}]+) \}|\*) from '([^']+)';$/gm;
/** A declaration begins at the left, and ends where the next one begins. */
const DECLARATION = /^(?:\/\*\*(?:(?!\*\/)[^])*\*\/\n)?export (?:declare )?(?:abstract )?(?:class|interface|type|function|const) (\w+)/gm;

/** The exported declarations of a file, by name, without comments. Overloads of one function are one text. */
function declarationsOf(file: string): Map<string, string> {
  const text = readFileSync(file, 'utf8');
  const found = new Map<string, string>();
  const starts = [...text.matchAll(DECLARATION)];
  for (const [at, start] of starts.entries()) {
    const [, name = ''] = start;
    const declared = text
      .slice(start.index, starts[at + 1]?.index)
      .replaceAll(/[ ]*\/\*\*(?:(?!\*\/)[^])*\*\/\n?/g, '')
      .replaceAll(/^(?:import|export \{|declare|interface|type|\/\/|\s*$).*\n?/gm, '')
      .replaceAll(/^ {4}#private;\n/gm, '')
      .trimEnd();
    found.set(name, [found.get(name), declared].filter(Boolean).join('\n'));
  }
  return found;
}

function surface(): string {
  const entry = join(dist, 'index.d.ts');
  const all = [...readFileSync(entry, 'utf8').matchAll(EXPORT)].flatMap(([, names, from = '']) => {
    const declared = declarationsOf(join(dirname(entry), from.replace(/\.[jt]s$/, '.d.ts')));
    if (names === undefined) return [...declared.values()];
    return names
      .split(/,\s*/)
      .filter(Boolean)
      .map((name) => {
        const text = declared.get(name);
        if (text === undefined) throw new Error(`no declaration of ${name} in ${from}`);
        return text;
      });
  });
  return `${all.join('\n\n')}\n`;
}

// After a wanted change: `npx vitest run test/package -u`, and a line in CHANGELOG.md.
it('the package exports what is recorded', async () => {
  const text = surface();
  for (const name of ['class DataServiceClient', 'function runJob', 'function verifier', 'type JobEvent', 'interface Contact'])
    expect(text).toContain(name);
  await expect(text).toMatchFileSnapshot('exported-surface.txt');
});
