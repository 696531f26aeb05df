import { expect, it } from 'vitest';
import { rootsOf } from '../../../src/providers/mapping/roots.ts';

it.each([
  ['status = 200 and $exists(body.data)', ['status', 'body']],
  ['ok = true', ['ok']],
  ["$not(boddy.error.type in ['a', 'b']) ? headers.x : body", ['boddy', 'headers', 'body']],
  ['body.items[reference = 3].name', ['body']],
  ['$map(body.items, function($one) { $one.name })', ['body']],
  ['($found := body.person; $found.email)', ['body']],
  ["{'a': body.a, 'b': [data.b, -data.c]}", ['body', 'data']],
  ["'ok' & $string(count)", ['count']],
  ['$.status', []],
  ['true', []],
])('%s reads these names of its input', (text, names) => {
  expect([...rootsOf(text)].toSorted()).toEqual(names.toSorted());
});
