import { describe, expect, it } from 'vitest';
import { serveStore } from '../harness.ts';
import { jobsOf, ndjson } from './jobs.ts';

const JANE = 'jane.doe@acme.example';

describe('a job', () => {
  it('gives each line the answer of its own call', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const bodies = [
      { email: JANE },
      { id: 'pe_3' },
      { email: 'nobody@acme.example' },
      { emial: JANE },
      {},
      { email: 'gone@acme.example' },
      { domain: 'acme.example' },
      { email: 'no address' },
      { email: JANE },
    ];
    const job = await jobs.run(
      { operation: 'enrich', metadata: { list: 'a' } },
      ndjson(...bodies.map((params, at) => ({ custom_id: `c${at}`, params })), '', { custom_id: 'bare', email: JANE }, 'no json', '[]'),
    );
    expect(job).toMatchObject({
      state: 'completed',
      reason: null,
      counts: { total: 12, succeeded: 5, not_found: 1, failed: 6, unprocessed: 0 },
      credits_charged: 5,
      parts: { count: 1 },
    });
    const lines = await jobs.lines(job.id);
    expect(lines.map(({ line }) => line)).toEqual(lines.map((_, at) => at + 1));
    for (const [at, params] of bodies.entries()) {
      const single = await service.post('/v1/enrich', params);
      const { status, custom_id: customId, record, error, credits } = lines[at] ?? expect.fail();
      expect(customId).toBe(`c${at}`);
      expect(status).toBe(single.status === 200 ? 'succeeded' : single.status === 404 ? 'not_found' : 'failed');
      expect(credits).toBe(Number(single.headers.get('x-credits-charged')));
      expect(record).toEqual(single.status === 200 ? single.json : null);
      const { code, detail, errors } = single.json;
      expect(error).toEqual(single.status === 200 ? null : { code, detail, errors });
    }
    expect(lines.slice(9)).toMatchObject([
      { custom_id: 'bare', status: 'succeeded' },
      { status: 'failed', error: { code: 'invalid_json' } },
      { status: 'failed', error: { code: 'validation_failed' } },
    ]);
    for (const set of ['succeeded', 'not_found', 'failed', 'unprocessed'] as const)
      expect(await jobs.lines(job.id, `?set=${set}`)).toEqual(lines.filter(({ status }) => status === set));
  });

  it('applies its options to all lines, and can enrich, reveal, verify and look up companies', async () => {
    const service = await serveStore();
    const jobs = jobsOf(service);
    const enriched = await jobs.run(
      { operation: 'enrich', options: { fields: ['name'], required: ['title'] } },
      ndjson({ email: JANE }, { email: 'solo@nowhere.example' }, { email: JANE, fields: ['title'] }),
    );
    expect((await jobs.lines(enriched.id)).map(({ record, error }) => record ?? error?.code)).toEqual([
      { name: 'Jane Doe' },
      'no_match',
      { title: 'CTO' },
    ]);
    const revealed = await jobs.run(
      { operation: 'reveal', options: { reveal_mobile: false } },
      ndjson({ name: 'Jane Doe', company: 'Acme' }, { domain: 'acme.example' }),
    );
    expect(await jobs.lines(revealed.id)).toMatchObject([
      { record: { email: JANE, credits_charged: 1 }, credits: 1 },
      { status: 'failed', error: { code: 'validation_failed' } },
    ]);
    const verified = await jobs.run(
      { operation: 'verify', options: { mode: 'syntax' } },
      ndjson(
        { email: JANE },
        { email: 'no address' },
        { email: 'No Address' },
        { email: 'gone@acme.example' },
        { email: 'no address' },
        { emails: [] },
      ),
    );
    expect(
      (await jobs.lines(verified.id)).map(({ status, record, error, credits }) => [status, record?.['result'] ?? error?.code, credits]),
    ).toEqual([
      ['succeeded', 'unknown', 0],
      ['succeeded', 'undeliverable', 1],
      ['succeeded', 'undeliverable', 1],
      ['failed', 'suppressed_person', 0],
      ['succeeded', 'undeliverable', 0],
      ['failed', 'validation_failed', 0],
    ]);
    const companies = await jobs.run(
      { operation: 'company' },
      ndjson({ domain: 'https://www.acme.example/x' }, { domain: 'nowhere.example' }, { domain: '?' }),
    );
    expect(await jobs.lines(companies.id)).toMatchObject([
      { record: { name: 'Acme' }, credits: 1 },
      { status: 'not_found' },
      { error: { code: 'invalid_parameter' } },
    ]);
  });

  it('can have its lines and its results as CSV', async () => {
    const jobs = jobsOf(await serveStore());
    const job = await jobs.run(
      { operation: 'enrich', format: 'csv', options: { fields: ['name'] } },
      '\u{feff}Email,custom_id\r\njane.doe@acme.example,"a ""b"", c"\r\n\r\n"unclosed,x\nsolo@nowhere.example,\n',
      'email,custom_id\nnobody@acme.example,n,,,\na,b,c',
    );
    expect(job).toMatchObject({ counts: { total: 5, succeeded: 2, not_found: 1, failed: 2 } });
    expect(await jobs.results(job.id)).toBe(
      [
        'line,custom_id,status,record,error,credits',
        '1,"a ""b"", c",succeeded,"{""name"":""Jane Doe""}",,1',
        '2,,failed,,"{""code"":""validation_failed"",""detail"":""cell 1 begins with a quote that is not closed"",""errors"":[]}",0',
        '3,,succeeded,"{""name"":""Søren Solo""}",,1',
        '4,n,not_found,,"{""code"":""no_match"",""detail"":""no person is known by this e-mail address"",""errors"":[]}",0',
        '5,b,failed,,"{""code"":""validation_failed"",""detail"":""the line has 3 cells, and the header 2"",""errors"":[]}",0',
        '',
      ].join('\n'),
    );
    expect((await jobs.lines(job.id, '?set=not_found')).map(({ line }) => line)).toEqual([4]);
  });

  it.each(['enrich', 'verify', 'reveal', 'company'])(
    'a job of %s with escape_formulas guards the cells of CSV results, and nothing else',
    async (operation) => {
      const jobs = jobsOf(await serveStore());
      const job = await jobs.run(
        { operation, options: { escape_formulas: true } },
        ndjson({ custom_id: '=1+1', [operation === 'company' ? 'domain' : 'email']: operation === 'company' ? 'acme.example' : JANE }),
      );
      const table = await jobs.results(job.id, '', { accept: 'text/csv' });
      expect(table.split('\n')[1]).toMatch(/^1,'=1\+1,succeeded,"\{/);
      expect(await jobs.lines(job.id)).toMatchObject([{ custom_id: '=1+1', status: 'succeeded' }]);
    },
  );

  it.each([
    ['ndjson', '', 'no_readable_line'],
    ['ndjson', 'no json\n{\n', 'no_readable_line'],
    ['csv', 'email,phnoe\na,b\n', 'bad_header'],
    ['csv', 'custom_id\na\n', 'bad_header'],
    ['csv', 'email,webhook_url\na@acme.example,https://hooks.example\n', 'bad_header'],
    ['csv', 'email,email\na,b\n', 'bad_header'],
    ['csv', 'email\n', 'no_readable_line'],
  ])('fails if no line can be read: %s %j', async (format, part, code) => {
    const jobs = jobsOf(await serveStore());
    const job = await jobs.run({ operation: 'enrich', format }, part);
    expect(job).toMatchObject({ state: 'failed', reason: { code }, counts: { total: 0 } });
    expect((await jobs.send('GET', `/${job.id}/results`)).json['code']).toBe('job_state_conflict');
  });

  it.each(['custom_id,name,domain,email\n', 'email,custom_id\n', '\u{feff} EMAIL \n'])(
    'fails if a later part has another header: %j',
    async (header) => {
      const jobs = jobsOf(await serveStore());
      const parts = [
        'email,name,domain,custom_id\njane.doe@acme.example,,,1\n',
        'email,name,domain,custom_id\n,Jane Doe,acme.example,2\n',
        `${header}a,b,c,d\n`,
      ];
      const job = await jobs.run({ operation: 'enrich', format: 'csv' }, ...parts);
      expect(job).toMatchObject({
        state: 'failed',
        reason: { code: 'bad_header', detail: expect.stringContaining('part 3 ') },
        counts: { total: 0 },
        credits_charged: 0,
      });
    },
  );
});
