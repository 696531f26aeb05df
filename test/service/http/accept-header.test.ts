import { describe, expect, it } from 'vitest';
import { accepted } from '../../../src/service/http/accept-header.ts';

describe('the media type of an answer', () => {
  it.each([
    [undefined, null],
    ['', null],
    ['*/*', null],
    ['text/*', null],
    ['text/html, */*;q=0.1', null],
    ['application/json', null],
    ['a/stream', 'a/stream'],
    ['A/Stream; charset=utf-8', 'a/stream'],
    ['a/stream;q=0', null],
    ['a/stream;q=0.000', null],
    ['a/stream ; Q=0', null],
    ['a/stream;q=0, a/lines;q=0', null],
    ['a/stream;q=0, a/lines', 'a/lines'],
    ['a/lines, a/stream', 'a/stream'],
    ['a/lines;q=0.9, a/stream;q=0.8', 'a/lines'],
    ['a/lines;q=0.001', 'a/lines'],
    ['a/lines;q=0.5, application/json', null],
    ['a/lines;q=0.5, application/*', null],
    ['a/lines;q=0.5, application/json;q=0.4', 'a/lines'],
    ['a/lines;q=0.5, application/json;q=0.4, */*', 'a/lines'],
    ['a/lines, application/json', 'a/lines'],
    ['a/lines, */*', 'a/lines'],
    ['a/lines;q=0.5, */*;q=0.1', 'a/lines'],
    ['a/lines;q=0.5, */*', null],
    ['a/lines;q=2', 'a/lines'],
    ['xa/lines, a/linesx', null],
  ] as const)('for the header %j is %j', (header, expected) => {
    expect(accepted(header, ['a/stream', 'a/lines'], 'application/json')).toBe(expected);
  });
});
