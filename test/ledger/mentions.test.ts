import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { mentionsOf } from '../../src/ledger/mentions.ts';

describe('mentionsOf', () => {
  const ada = mentionsOf('ada@works.example');

  it.each([
    '{"email":"ada@works.example"}',
    '{"email":"Ada@Works.Example","name":"Ada"}',
    String.raw`{"email":"ada\u0040works.example"}`,
    String.raw`{"email":"\u0061da@works.example"}`,
    '{"company":{"contacts":[{"mail":"mailto:ada@works.example?subject=x"}]}}',
    '{"reason":"550 <ada@works.example>: no such user"}',
    '{"note":"Write to ada@works.example."}',
    '{"ada@works.example":true}',
    'not even JSON: ada@works.example',
    String.raw`broken \ ada@works.example`,
  ])('finds the address in %s', (json) => expect(ada(json)).toBe(true));

  it.each([
    '{"email":"nada@works.example"}',
    '{"email":"x.ada@works.example"}',
    '{"email":"ada@works.example.com"}',
    '{"email":"ada@works.examples"}',
    '{"email":"ada@works-example"}',
    '{"email":"ånada@works.example"}',
    '{"email":"åada@works.example"}',
    '',
    '[]',
  ])('does not take another address for it in %s', (json) => expect(ada(json)).toBe(false));

  it('matches both forms of an internationalised domain, and quoted and composed local parts', () => {
    const bo = mentionsOf('bo@xn--bcher-kva.example');
    expect(bo('{"email":"bo@bücher.example"}')).toBe(true);
    expect(bo('{"email":"bo@BÜCHER.example"}')).toBe(true);
    expect(bo('{"email":"bo@bu\u0308cher.example"}')).toBe(true);
    expect(bo('{"email":"bo@xn--bcher-kva.example"}')).toBe(true);
    expect(mentionsOf('"cy d"@works.example')(JSON.stringify({ email: '"Cy D"@works.example' }))).toBe(true);
    expect(mentionsOf('jos\u00e9@works.example')(JSON.stringify({ email: 'jose\u0301@works.example' }))).toBe(true);
  });

  it('finds an address in any key or string of JSON, however it is escaped', () => {
    const escape = (text: string, which: readonly boolean[]): string =>
      text.replaceAll(/./g, (char, i: number) =>
        which[i % which.length] === true ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}` : char,
      );
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }), fc.jsonValue(), fc.boolean(), (which, other, asKey) => {
        const text = `"${escape('ada@works.example', which)}"`;
        const rest = JSON.stringify(other);
        expect(ada(asKey ? `{"x":${rest},${text}:1}` : `{"x":${rest},"y":[${text}]}`)).toBe(true);
        expect(ada(rest)).toBe(false);
      }),
    );
  });
});
