import { describe, expect, test } from 'vitest';
import { compileProvider } from '../../../src/providers/definition/compile-provider.ts';
import { refusalOf } from '../../definition/support.ts';
import { definition, enrich, LEAST, refused, request } from './support.ts';

describe('a definition is refused for', () => {
  test.each([
    ['no operations', 'operations: {}', 'missing_key', /^operations is empty \(acme\.yaml, line 1\)$/],
    [
      'no request',
      enrich('creditsAtMost: 1'),
      'missing_key',
      /^operations\.enrich needs a request, a batch, or both \(acme\.yaml, line 2\)$/,
    ],
    ['no record', LEAST.replace(/ *record.*\n/, ''), 'missing_key', /^operations\.enrich\.record is missing \(acme\.yaml, line 2\)$/],
    ['no keys', LEAST.replace(/ *keys.*\n/, ''), 'missing_key', /^operations\.enrich\.keys is missing \(acme\.yaml, line 2\)$/],
    [
      'keys of another step',
      LEAST.replace('enrich', 'verify').replace('[email]', '[email, phone]'),
      'bad_value',
      /verify takes email only, got phone \(acme\.yaml, line 3\)$/,
    ],
    ['a key given twice', LEAST.replace('[email]', '[email, email]'), 'bad_value', /operations\.enrich\.keys names email twice/],
    [
      'a key that the request never reads',
      LEAST.replace('[email]', '[email, name+domain]'),
      'unused_key',
      /^operations\.enrich\.keys: operations\.enrich\.request never reads name, which the key name\+domain needs \(acme\.yaml, line 3\)$/,
    ],
    [
      'half of a key',
      request('path: /a\nquery: {e: email, n: name}').replace('[email]', '[email, name+domain]'),
      'unused_key',
      /never reads domain/,
    ],
    [
      'a word that only contains a key',
      request('path: /a\nquery: {e: work_email, f: $email, g: emails}').replace('$email', "'x'"),
      'unused_key',
      /never reads email/,
    ],
    [
      'a batch that never reads a key',
      enrich('batch:\n  size: 5\n  items: body\n  request: {path: /b, body: {list: lookups.name}}'),
      'unused_key',
      /operations\.enrich\.batch\.request never reads email/,
    ],
    [
      'a batch of one',
      enrich('batch:\n  size: 1\n  items: body\n  request: {path: /b, body: lookups}'),
      'bad_value',
      /^operations\.enrich\.batch\.size must be a whole number from 2 to 1000, got 1 \(acme\.yaml, line 6\)$/,
    ],
    ['a batch too large', enrich('batch:\n  size: 1001\n  items: body\n  request: {path: /b, body: lookups}'), 'bad_value', /got 1001/],
    [
      'a batch without request',
      enrich('batch:\n  size: 10\n  items: body'),
      'missing_key',
      /^operations\.enrich\.batch\.request is missing \(acme\.yaml, line 5\)$/,
    ],
    [
      'a body in a GET',
      request('method: GET\npath: /{email}\nbody: {a: 1}'),
      'bad_value',
      /request\.body: a GET request carries no body \(acme\.yaml, line 8\)$/,
    ],
    ['a body type without a body', request('path: /{email}\nbodyType: form'), 'bad_value', /bodyType needs a body/],
    [
      'a path without slash',
      request('path: people/{email}'),
      'bad_path',
      /^operations\.enrich\.request\.path must begin with \/ \(acme\.yaml, line 6\)$/,
    ],
    ['an open brace', request('path: "/people/{email"'), 'bad_path', /has a \{ without its \}/],
    ['a lone brace', request('path: "/people/email}"'), 'bad_path', /has a \} without its \{/],
    ['parameters in a path', request('path: "/people?email={email}"'), 'bad_path', /must not hold \? or #/],
    ['spaces in a path', request('path: "/my people/{email}"'), 'bad_path', /printable ASCII/],
    [
      'a placeholder that does not compile',
      request('path: "/people/{$lowercas(email)}"'),
      'bad_mapping',
      /^operations\.enrich\.request\.path at character 1: there is no \$lowercas; .* \(acme\.yaml, line 6\)$/,
    ],
    ['an empty placeholder', request('path: "/people/{}"'), 'bad_mapping', /Unexpected end of expression/],
    [
      'a mapping that does not compile',
      LEAST.replace('body.data.email', '"$now()"'),
      'bad_mapping',
      /^operations\.enrich\.record\.email at character 1: \$now is refused.* \(acme\.yaml, line 6\)$/,
    ],
    [
      'a rule that does not compile',
      enrich('request: {path: "/{email}"}\nanswers:\n  miss: "status ="'),
      'bad_mapping',
      /^operations\.enrich\.answers\.miss.*\(acme\.yaml, line 7\)$/,
    ],
    [
      'a rule that reads what no answer has',
      enrich('request: {path: "/{email}"}\nanswers:\n  miss: "status = 200 and boddy.data = null"'),
      'bad_mapping',
      /^operations\.enrich\.answers\.miss: an answer has status, headers and body, and no "boddy" \(acme\.yaml, line 7\)$/,
    ],
    [
      'poll without pending',
      `${LEAST}    poll: {ticket: body.id}`,
      'missing_key',
      /^operations\.enrich\.poll needs answers\.pending, .* \(acme\.yaml, line 7\)$/,
    ],
    [
      'pending without poll',
      `${LEAST}    answers: {pending: status = 202}`,
      'missing_key',
      /^operations\.enrich\.answers\.pending needs poll, .* \(acme\.yaml, line 7\)$/,
    ],
    [
      'a batch that is answered later, and nothing that asks again',
      `${LEAST}    batch: {size: 2, request: {path: /b, body: lookups}, items: body, answers: {pending: status = 202}}`,
      'missing_key',
      /^operations\.enrich\.batch\.answers\.pending needs operations\.enrich\.batch\.poll, which asks again \(acme\.yaml, line 7\)$/,
    ],
    [
      'polls of a batch without a rule for later answers',
      `${LEAST}    batch: {size: 2, request: {path: /b, body: lookups}, items: body, poll: {}}`,
      'missing_key',
      /^operations\.enrich\.batch\.poll needs operations\.enrich\.batch\.answers\.pending/,
    ],
    [
      'a poll that never comes',
      `${LEAST}    answers: {pending: status = 202}\n    poll: {everySeconds: 60, longestSeconds: 10}`,
      'bad_value',
      /everySeconds is longer than longestSeconds/,
    ],
    [
      'a first poll that never comes',
      `${LEAST}    answers: {pending: status = 202}\n    poll: {firstSeconds: 60, longestSeconds: 10}`,
      'bad_value',
      /firstSeconds is longer than longestSeconds/,
    ],
    [
      'a default plan that does not exist',
      `${LEAST}defaultPlan: prro\nquota: {plans: {pro: [], free: []}}`,
      'unknown_plan',
      /^defaultPlan is "prro", which quota\.plans lacks; did you mean pro\? \(acme\.yaml, line 7\)$/,
    ],
    ['a default plan without plans', `${LEAST}defaultPlan: pro`, 'unknown_plan', /which quota\.plans lacks \(acme\.yaml, line 7\)$/],
    [
      'a plan of an operation alone',
      `${LEAST}    quota: {plans: {prro: [1/second]}}\nquota: {plans: {pro: []}}`,
      'unknown_plan',
      /^operations\.enrich\.quota\.plans has a plan prro, which quota\.plans lacks; did you mean pro\? \(acme\.yaml, line 7\)$/,
    ],
    [
      'a window twice',
      `${LEAST}quota: {plans: {pro: [1/second, 2/second]}}`,
      'bad_value',
      /^quota\.plans\.pro states the window of a second twice \(acme\.yaml, line 7\)$/,
    ],
    [
      'quota headers of no window',
      `${LEAST}quota: {headers: [{limit: a}]}`,
      'bad_value',
      /^quota\.headers\[0\] needs either window or json: true \(acme\.yaml, line 7\)$/,
    ],
    [
      'quota headers of nothing',
      `${LEAST}quota: {headers: [{window: day, reset: a}]}`,
      'bad_value',
      /^quota\.headers\[0\] names no header/,
    ],
    [
      'two authentications',
      `${LEAST}authentication: {bearer: true, query: key}`,
      'bad_value',
      /^authentication has both bearer and query: keep one \(acme\.yaml, line 7\)$/,
    ],
    ['no authentication', `${LEAST}authentication: {}`, 'bad_value', /needs one of bearer, header, query, body, basic/],
    [
      'a key of the body, where a request has none',
      `${LEAST}authentication: {body: api_key}`,
      'bad_value',
      /^authentication sends the API key in the body, and enrich has a request without one: add query, .*line 7\)$/,
    ],
    ['a prefix alone', `${LEAST}authentication: {bearer: true, prefix: a}`, 'bad_value', /has a prefix without its header/],
    [
      'both halves of basic',
      `${LEAST}authentication: {basic: {user: a, password: b}}`,
      'bad_value',
      /either basic\.user or basic\.password/,
    ],
    ['half of a certificate', `${LEAST}tls: {certFile: a.pem}`, 'bad_value', /^tls needs both certFile and keyFile, or neither/],
    [
      'the built-in client of another name',
      `${LEAST}client: built-in`,
      'bad_value',
      /^client: built-in is for the definition millrace only, and this one is acme \(acme\.yaml, line 7\)$/,
    ],
  ])('%s', (_, text, code, message) => {
    const error = refused(text);
    expect(error.message).toMatch(message);
    expect(error).toMatchObject({ code, exitCode: 78 });
  });

  test.each(['Authorization', 'HOST', 'content-length', 'Content-Type', 'Transfer-Encoding', 'Cookie', 'Connection', 'Accept-Encoding'])(
    'the header %s, which the client writes',
    (name) => {
      for (const [text, key] of [
        [`${LEAST}headers: {${name}: a}`, `headers.${name}`],
        [
          request(`path: /{email}\nheaders: {${name}: "'a'"}`).replace('/{email}', '"/{email}"'),
          `operations.enrich.request.headers.${name}`,
        ],
      ] as const) {
        expect(refused(text)).toMatchObject({ code: 'bad_header', hint: expect.any(String) });
        expect(refused(text).message).toContain(`${key}: a definition cannot set this header (acme.yaml, line `);
      }
    },
  );

  test('the headers of authentication and idempotency, and for a header given twice', () => {
    expect(refused(`${LEAST}authentication: {header: X-Auth}\nheaders: {x-auth: a}`).hint).toBe('`authentication` sends it.');
    expect(refused(`${LEAST}idempotency: {header: X-Once}\nheaders: {x-once: a}`).hint).toBe('`idempotency` sends it.');
    expect(refused(`${LEAST}headers: {accept: a, Accept: b}`).message).toContain('headers.Accept: the header is given twice');
  });

  test.each([
    ['ftp://a.example', 'must begin with http:// or https://'],
    ['api.acme.example', 'must be a URL, got "api.acme.example"'],
    ['https://me:hunter2@a.example', 'must not hold a user name or password'],
    ['"https://a.example?key=hunter2"', 'must end after its path, without ? or #'],
    ['hunter2@', 'must be a URL'],
  ])('the address %s, and no secret in it is shown', (url, problem) => {
    for (const [text, key] of [
      [`${LEAST}baseUrl: ${url}`, 'baseUrl'],
      [request(`path: "/{email}"\nbaseUrl: ${url}`), 'operations.enrich.request.baseUrl'],
    ] as const) {
      const error = refused(text);
      expect(error).toMatchObject({ code: 'bad_url', exitCode: 78 });
      expect(error.message).toMatch(new RegExp(`^${key.replaceAll('.', String.raw`\.`)} .* \\(acme\\.yaml, line 7\\)$`));
      expect(error.message).toContain(problem);
      expect(`${error.message} ${error.hint}`).not.toContain('hunter2');
    }
  });

  test('a file whose name is no name of a provider, without a name of its own', () => {
    expect(compileProvider(definition(`name: a\n${LEAST}`, 'Acme Data.yaml')).name).toBe('a');
    expect(refusalOf(() => compileProvider(definition(LEAST, 'Acme Data.yaml'))).message).toMatch(
      /^name is missing, and the file's name "Acme Data" is none/,
    );
    expect(refused(`name: Acme\n${LEAST}`).message).toMatch(/^name must be lower-case letters, .*, got "Acme" \(acme\.yaml, line 1\)$/);
  });
});
