/** Writes the synchronous half of the Python library from the asynchronous one, so that both behave alike. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GeneratedFile } from './model.ts';
import { NOTICE } from './text.ts';

const FOLDER = 'python/src/millrace';

/** Asynchronous code and its synchronous counterpart, applied in this order. */
const PAIRS: readonly (readonly [RegExp, string])[] = [
  [/^.*# async only\n/gm, ''],
  [/^( *)# sync only: /gm, '$1'],
  [/^import anyio\n/gm, ''],
  [/Iterable\[Line\] \| AsyncIterable\[Line\]/g, 'Iterable[Line]'],
  [/AsyncIterable, AsyncIterator, Iterable/g, 'Iterable, Iterator'],
  [/import AsyncIterator, Callable, Sequence/g, 'import Callable, Iterator, Sequence'],
  [/AsyncGenerator, AsyncIterator, Callable/g, 'Callable, Generator, Iterator'],
  [/AsyncGenerator\[(\w+), None\]/g, 'Generator[$1, None, None]'],
  [/asynccontextmanager/g, 'contextmanager'],
  [/await anyio\.sleep/g, 'time.sleep'],
  [/anyio\.fail_after/g, 'fail_after'],
  [/anyio\.Semaphore/g, 'threading.Semaphore'],
  [/^import ssl\n/gm, 'import ssl\nimport threading\n'],
  [/\baiter_bytes\b/g, 'iter_bytes'],
  [/\baclose\b/g, 'close'],
  [/__a(iter|next|enter|exit)__/g, '__$1__'],
  [/httpx\.AsyncClient/g, 'httpx.Client'],
  [/\basync (def|for|with)\b/g, '$1'],
  [/\bawait /g, ''],
  [/\bAsync(?=[A-Z])/g, ''],
  [/Transport, Request$/gm, 'Request, Transport'],
];

/** One file for each of `_async`. */
export function synchronousPython(): GeneratedFile[] {
  const from = join(import.meta.dirname, '..', FOLDER, '_async');
  return readdirSync(from)
    .filter((name) => name.endsWith('.py') && name !== '__init__.py')
    .map((name) => {
      const text = PAIRS.reduce((done, [pattern, by]) => done.replace(pattern, by), readFileSync(join(from, name), 'utf8'));
      const [about = '', ...rest] = text.split('\n');
      return { path: `${FOLDER}/_sync/${name}`, text: [about, '', `# ${NOTICE.replace('/openapi.json', '_async')}`, ...rest].join('\n') };
    })
    .concat({ path: `${FOLDER}/_sync/__init__.py`, text: `"""The synchronous half."""\n` });
}
