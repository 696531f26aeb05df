/** Recorded answers go the way of real ones, without a network, and are compared with what is expected. */
import { describe, expect, it } from 'vitest';
import { checkAnswers } from '../../../src/providers/check/check-answers.ts';
import { readAnswers } from '../../../src/providers/check/answers-file.ts';
import { compileProvider } from '../../../src/providers/definition/compile-provider.ts';
import { loadProvider } from '../../../src/providers/definition/load-provider.ts';
import { acme, checked, recorded } from './support.ts';

const ADA = { email: 'ada@example.com', title: 'Engineer' };

describe('the report of a recorded answer', () => {
  it('shows the request as it would be sent, with the API key masked', async () => {
    const { request } = await checked(acme(), recorded({ body: ADA }));
    expect(request).toMatchObject({ method: 'GET', url: 'https://api.acme.example/v1/people?email=ada%40example.com', body: null });
    expect(request?.headers['x-key']).toBe('***');
  });

  it.each(['{bearer: true}', '{query: key}', '{basic: {user: me}}', '{basic: {password: x}}'])(
    'masks the API key of %s',
    async (authentication) => {
      const { request } = await checked(acme('', `authentication: ${authentication}`), recorded({ body: ADA }));
      expect(JSON.stringify(request)).toContain('***');
      expect(JSON.stringify(request)).not.toContain('millrace-check');
    },
  );

  it('names the rule that decided, and the rules that none of them decided', async () => {
    const rules = acme('answers: {miss: "status = 404", match: "status = 200"}');
    expect((await checked(rules, recorded({ status: 404, body: {} }))).judged[0]).toMatchObject({
      kind: 'miss',
      rule: 'operations.enrich.answers.miss',
      why: 'operations.enrich.answers.miss is true',
    });
    expect((await checked(acme(), recorded({ body: ADA }))).judged[0]).toMatchObject({
      kind: 'match',
      rule: null,
      why: 'no rule is true; the status is 200 and the record has a value',
    });
  });

  it('has the record, the credits and the quota of the headers', async () => {
    const headers = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '99', 'X-RateLimit-Reset': '30' };
    const report = await checked(acme('credits: "2"'), recorded({ headers, body: ADA }));
    expect(report.judged[0]?.record).toEqual({ email: 'ada@example.com', title: 'Engineer' });
    expect(report).toMatchObject({ credits: 2, quota: [{ window: 'minute', limit: 100, remaining: 99, resetSeconds: 30 }] });
  });

  it('says how long to wait', async () => {
    const report = await checked(acme(), recorded({ status: 429, headers: { 'Retry-After': '12' }, body: {} }));
    expect(report.judged[0]).toMatchObject({ kind: 'wait', waitSeconds: 12 });
  });

  it('puts a first and a last name together', async () => {
    const lookups = [{ first_name: 'Ada', last_name: 'Example', domain: 'example.com' }];
    const { request } = await checked(acme(), recorded({ body: ADA }, { lookups }));
    expect(request?.url).toBe('https://api.acme.example/v1/people?name=Ada%20Example&domain=example.com');
  });
});

describe('an answer that does not fit', () => {
  it('an answer of another shape is told with the field, what was expected and what came', async () => {
    const report = await checked(acme(), recorded({ body: { email: 'a@example.com', employees: '1-10' } }));
    expect(report.judged[0]?.kind).toBe('unfit');
    expect(report.differences).toEqual(['operations.enrich.record.company.employees: expected a number, got the text "1-10"']);
  });

  it('a mapping that throws is told with its key and position', async () => {
    const definition = acme().replace('title: body.title', 'title: "$uppercase(body.title)"');
    const { differences } = await checked(definition, recorded({ body: { email: 'a@example.com', title: 5 } }));
    expect(differences).toEqual([expect.stringMatching(/operations\.enrich\.record\.title failed at character \d+ of its expression/)]);
  });

  it('a lookup of which no request can be made is a difference', async () => {
    const definition = acme().replace('path: /people', 'path: "/people/{email}"');
    const report = await checked(definition, recorded({ body: ADA }, { lookups: [{ name: 'Ada', domain: 'example.com' }] }));
    expect(report).toMatchObject({ request: null, answer: null, judged: [{ kind: 'notAsked' }] });
    expect(report.differences).toHaveLength(1);
  });
});

describe('the comparison with what is expected', () => {
  it('finds another kind, another field and other credits', async () => {
    const expecting = async (expect_: object): Promise<readonly string[]> =>
      (await checked(acme(), recorded({ body: ADA }, { expect: expect_ as never }))).differences;
    expect(await expecting({ kind: 'match', record: { title: 'Engineer' }, credits: 0 })).toEqual([]);
    expect(await expecting({ kind: 'miss' })).toEqual([expect.stringMatching(/^expected miss, got match: /)]);
    expect(await expecting({ kind: 'match', record: { title: 'Boss' } })).toEqual(['record.title: expected "Boss", got "Engineer"']);
    expect(await expecting({ kind: 'match', record: { mobile: null } })).toEqual([]);
    expect(await expecting({ kind: 'match', credits: 3 })).toEqual(['credits: expected 3, got 0']);
  });

  it('each lookup of a batch is compared', async () => {
    const batch = acme(`answers: {match: "status = 200 and $exists(body.email)", miss: status = 404}
batch:
  size: 10
  request: {method: POST, path: /bulk, body: {people: "lookups.{'id': id, 'email': email, 'name': name, 'domain': domain}"}}
  items: body.people
  itemId: id
  itemStatus: code`);
    const lookups = [{ email: 'ada@example.com' }, { email: 'no@example.com' }, { email: 'gone@example.com' }];
    const body = {
      people: [
        { id: '1', code: 404 },
        { id: '0', code: 200, email: 'ada@example.com' },
      ],
    };
    const report = await checked(
      batch,
      recorded({ body }, { lookups, expect: [{ kind: 'match' }, { kind: 'match' }, { kind: 'leftOut' }] }),
    );
    expect(report.request?.url).toBe('https://api.acme.example/v1/bulk');
    expect(report.judged.map(({ kind, rule }) => [kind, rule])).toEqual([
      ['match', 'operations.enrich.answers.match'],
      ['miss', 'operations.enrich.answers.miss'],
      ['leftOut', null],
    ]);
    expect(report.differences).toEqual([expect.stringMatching(/^lookup 2: expected match, got miss/)]);
  });
});

describe('the recorded answers of the vendors', () => {
  it.each(['apollo', 'hunter', 'people-data-labs', 'zerobounce'])(
    'the recorded answers of %s are all judged by its definition',
    async (name) => {
      const provider = compileProvider(await loadProvider(name));
      const answers = await readAnswers(`test/providers/recorded/${name}.json`, provider.file);
      const own = (answers?.answers ?? []).filter(({ operation }) => provider.operations[operation] !== undefined);
      const reports = await checkAnswers(provider, { file: 'x', answers: own }, null, null);
      expect(reports).toHaveLength(own.length);
      expect(reports.length).toBeGreaterThan(10);
      const kinds = reports.flatMap(({ judged }) => judged.map(({ kind }) => kind));
      expect(kinds).toEqual(expect.arrayContaining(['match', 'denied']));
      for (const { judged, request } of reports) {
        // A vendor's example of a batch has no request where the definition has no batch.
        expect(request === null).toBe(judged.some(({ kind }) => kind === 'notAsked'));
        for (const { why } of judged) expect(why).not.toBe('');
      }
    },
  );
});
