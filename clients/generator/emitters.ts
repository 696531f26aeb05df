/** Every language that is generated. To add one, write its emitter and add its row. */
import type { Emitter } from './model.ts';
import { emitNode } from './node.ts';
import { synchronousPython } from './python-sync.ts';
import { emitPython } from './python.ts';

export const EMITTERS: Readonly<Record<string, Emitter>> = {
  node: emitNode,
  python: (api) => [...emitPython(api), ...synchronousPython()],
};
