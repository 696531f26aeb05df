import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { jsonlValues, trimJson } from '../../../src/formats/jsonl/jsonl-records.ts';

describe('jsonlValues', () => {
  it('jsonlValues returns strings decoded, null and absent keys as empty, and all other values as JSON', () => {
    const json =
      ' { "s" : "a\\u00e9\\n\\"", "n": 12345678901234567890, "e":1e400, "t":true,"f": ' +
      'false, "z":null, "o" : { "x": [1, "}"] } , "a":[ {"n":2} ,","] } ';
    expect(jsonlValues(json, ['s', 'n', 'e', 't', 'f', 'z', 'o', 'a', 'absent', 'x'])).toEqual([
      'aé\n"',
      '12345678901234567890',
      '1e400',
      'true',
      'false',
      '',
      '{ "x": [1, "}"] }',
      '[ {"n":2} ,","]',
      '',
      '',
    ]);
  });

  it('jsonlValues agrees with JSON.parse on every object, also for repeated keys and names of Object.prototype', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'a:b', '{', '\\"')), fc.jsonValue()),
        fc.constantFrom(0, 1),
        (object, spaces) => {
          const keys = Object.keys(object);
          const values = jsonlValues(JSON.stringify(object, null, spaces), keys);
          const back = values.map((value, index) => {
            const given = object[keys[index] ?? ''];
            return typeof given === 'string' ? value : value === '' ? null : (JSON.parse(value) as unknown);
          });
          expect(back).toEqual(keys.map((key) => (JSON.parse(JSON.stringify({ value: object[key] })) as { value: unknown }).value));
        },
      ),
    );
    expect(jsonlValues('{"a":1,"a":[2]}', ['a', 'toString'])).toEqual(['[2]', '']);
  });

  it('jsonlValues returns no values for a text that is not an object, and does not recurse into deep nesting', () => {
    expect(jsonlValues('"a bad line"', ['a'])).toEqual(['']);
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(jsonlValues(`{"a":${deep}}`, ['a'])).toEqual([deep]);
  });
});

describe('trimJson', () => {
  it('trimJson removes only the white space of JSON, in linear time', () => {
    expect(trimJson(' \t{"a":1}\r')).toBe('{"a":1}');
    expect(trimJson('\u00a0x ')).toBe('\u00a0x');
    expect(trimJson('  \r')).toBe('');
    expect(trimJson('\ufeff {"a":1}')).toBe('{"a":1}');
    const gap = ' '.repeat(4_000_000);
    expect(trimJson(`a${gap}b`)).toBe(`a${gap}b`);
  });
});
