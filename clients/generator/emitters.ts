/** Everything that is generated. To add a language, write its emitter and add its row. */
import { emitExamples } from './examples/emit.ts';
import type { Emitter } from './model.ts';
import { emitGo } from './go.ts';
import { emitNode } from './node.ts';
import { emitPhp } from './php.ts';
import { synchronousPython } from './python-sync.ts';
import { emitPython } from './python.ts';
import { emitRuby } from './ruby.ts';

export const EMITTERS: Readonly<Record<string, Emitter>> = {
  go: emitGo,
  node: emitNode,
  php: emitPhp,
  python: (api) => [...emitPython(api), ...synchronousPython()],
  ruby: emitRuby,
  'the reference': emitExamples,
};
