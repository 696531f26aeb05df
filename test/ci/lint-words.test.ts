import { describe, expect, it } from 'vitest';
import { lintText } from '../../.ci/lint-words.ts';

const messages = (path: string, text: string): string[] => lintText(path, text).map(({ line, message }) => `${line}: ${message}`);
/** The findings in the docstring of a function. */
const inDocstring = (prose: string): string[] => messages('a.ts', `/** ${prose} */\nexport function f(): void {}\n`);
const inTitle = (title: string): string[] => messages('a.test.ts', `it('${title}', () => {});\n`);

describe('the linter of prose', () => {
  it.each([
    ['The rows, of which one is new.', ', of which'],
    ['Of two answers the older.', 'Of'],
    ['People of whom a row is kept.', 'of whom'],
    ['In which order the rows come.', 'In which'],
    ['By age is the order.', 'By age is'],
    ['Closed for whoever asks.', 'whoever'],
    ['Who reads takes the lock.', 'Who'],
    ['What comes first.', 'What'],
    ['One that is stale.', 'One that'],
    ['That there is a lock.', 'That there'],
    ['Whether it may be gone.', 'Whether it'],
    ['Whether the key may be gone by what was seen.', 'Whether the key may be gone by what'],
    ['The log says it, nobody is told.', 'nobody is told'],
    ['A host that was told of.', 'was told of'],
    ['Takes so many tokens.', 'so many'],
    ['A blank line is none.', 'is none'],
    ['A key that is none of its own.', 'none of its'],
    ['A path that there is not.', 'there is not'],
    ['A lock, but not any more.', 'not any more'],
    ['A row that is of nobody.', 'is of nobody'],
    ['The row; null: it has gone.', 'null: it'],
    ['Waits, for it is early.', ', for it'],
    ['The end of the row of a page of results.', 'of the row of a page of'],
    ['Left to somebody.', 'somebody'],
  ])('finds in the docstring %j the phrase %j and says what to write instead', (prose, phrase) => {
    expect(inDocstring(prose)).toEqual([expect.stringMatching(new RegExp(`^1: "${phrase}": .*\\w`))]);
  });

  it.each([
    ['is red', 'is'],
    ['of two keys the older wins', 'Of|of'],
    ['and stays so', 'and'],
  ])('finds that the title %j does not stand alone', (title, phrase) => {
    expect(inTitle(title)).toContainEqual(expect.stringMatching(new RegExp(`^1: "(?:${phrase})": a title`)));
  });

  it.each([
    'comeback',
    'told-answers',
    'retryPatience',
    'courier',
    'fairLanes',
    'tidied',
    'tidies',
    'pacer',
    'callsOwing',
    'vouched',
    'Passage',
  ])('finds the word in the name %s', (name) => {
    expect(messages('a.ts', `const a = ${name};\n`)).toHaveLength(1);
  });

  it('finds a line of 141 columns, a sentence of 41 words and a comment of three sentences', () => {
    expect(messages('a.ts', `const a = '${'x'.repeat(128)}';\n`)).toEqual([expect.stringContaining('141 columns')]);
    expect(messages('a.md', `${'word\n'.repeat(41).trim()}.\n`)).toEqual([expect.stringContaining('41 words')]);
    expect(messages('a.ts', '// One. Two.\n// Three.\n')).toEqual([expect.stringContaining('3 sentences')]);
  });

  it('finds a line of a page that has 141 columns, but for tables, code and one long word', () => {
    const long = `${'a'.repeat(70)}. ${'b'.repeat(68)}.`;
    expect(messages('a.md', `One.\n${long}\n`)).toEqual(['2: 141 columns; break the line at 140']);
    expect(messages('a.md', `| ${long} |\n\n\`\`\`\n${long}\n\`\`\`\n\n${'c'.repeat(150)}\n`)).toEqual([]);
  });

  it('names the line of a phrase in a docstring of several lines, after a template literal with code in it', () => {
    const source = 'const a = `${[`${{ a: 1 }}`].map((b) => `${b} // Who`)}`;\n/**\n * Closes the file\n * for whoever asks.\n */\n';
    expect(messages('a.ts', source)).toEqual([expect.stringMatching(/^4: "whoever"/)]);
  });

  it('leaves code, strings, regular expressions and code blocks of a page alone', () => {
    const source = "const a = /['/*]/.test('// Who asks') || b / c;\nconst d = \"/* of which */\"; // `whoever` is a key.\n";
    expect(messages('a.ts', source)).toEqual([]);
    expect(messages('a.md', '# Title\n\n```\nof which\n```\n\n| `so many` | a cell |\n|---|---|\n| [x](whoever.md) | b |\n')).toEqual([]);
  });

  it('finds nothing in plain prose', () => {
    expect(inDocstring('The rows of a key, oldest first. Null when the key has none. @throws RangeError if `count` is below 1')).toEqual(
      [],
    );
    expect(inTitle('a 429 pauses every call for the Retry-After it carries')).toEqual([]);
    expect(messages('a.md', 'Who pays? The caller. There are none of those, of course.\n')).toEqual([]);
  });
});
