import { parseString } from 'fast-csv';
import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { guardFormula } from '../../src/util/formula-guard.ts';
import { csvRow } from '../../src/formats/csv/csv-row.ts';
import type { CompiledJob } from '../../src/definition/compiled-job.ts';
import type { InputManifest, InputRecord } from '../../src/formats/input-record.ts';
import type { RecordResult } from '../../src/processor/result.ts';
import { readPath, resultColumns, toCell } from '../../src/writer/result-columns.ts';
import { rowFormat } from '../../src/writer/row-format.ts';
import { csvRecord, jobFor, jsonRecord, manifestOf, result, text } from './samples.ts';
import { STEPS, type Step } from '../../src/steps/registry.ts';

/** fast-csv drops spaces at the beginning of a row, so every row here begins with a letter. */
function parse(bytes: Buffer, delimiter: string): Promise<string[][]> {
  return new Promise((resolve, reject) => {
    const rows: string[][] = [];
    parseString(bytes.toString(), { delimiter })
      .on('data', (row: string[]) => rows.push(row))
      .on('error', reject)
      .on('end', () => resolve(rows));
  });
}

const rowsOf = (width: number): fc.Arbitrary<string[][]> =>
  fc.array(fc.array(text, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 8 });
const anyRows = fc
  .integer({ min: 1, max: 6 })
  .chain(rowsOf)
  .map((rows) => rows.map((row) => ['x', ...row]));
/** UTF-8 cannot encode lone surrogates. */
const asWritten = (rows: readonly (readonly string[])[]): string[][] => rows.map((row) => row.map((cell) => cell.toWellFormed()));

describe('csvRow', () => {
  it.each([',', '\t'])('writes any cells so that they are read unchanged (delimiter %j)', async (delimiter) => {
    await fc.assert(
      fc.asyncProperty(anyRows, async (rows) => {
        const format = csvRow(delimiter);
        const written = rows.map((row) => format(row));
        for (const bytes of written) expect(bytes.at(-1)).toBe(0x0a);
        // Parsed as one file, so that a row cannot run into the next.
        expect(await parse(Buffer.concat(written), delimiter)).toEqual(asWritten(rows));
      }),
      { numRuns: 400 },
    );
  });

  it('quotes only where necessary, and ends lines with LF', () => {
    expect(csvRow(',')(['a b', '', "o'c", 'x;y|z', '漢']).toString()).toBe("a b,,o'c,x;y|z,漢\n");
    expect(csvRow(',')(["O'Brien|x", 'a, b', 'c']).toString()).toBe('O\'Brien|x,"a, b",c\n');
  });

  it('distinguishes one empty cell from no row', () => {
    expect(csvRow(',')(['']).toString()).toBe('""\n');
  });

  it('keeps no state of the row before', () => {
    const format = csvRow(',');
    const rows = [
      ['a"', 'b'],
      ['c', 'd'],
      ['e\nf', ''],
      ['\0', '"'],
      ['g,', 'h'],
      ['i', 'j'],
    ];
    const twice = [...rows, ...rows].map((row) => format(row).toString());
    expect(twice.slice(0, 6)).toEqual(twice.slice(6));
  });
});

describe('rows of csv and tsv', () => {
  it("have the input's cells unchanged, then all columns of the result, under a matching header", async () => {
    const columns = ['id', 'Work Email', 'Note, "quoted"'];
    const rows = fc.array(fc.tuple(text, text, result), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('csv', 'tsv'), fc.subarray([...STEPS], { minLength: 1 }), rows, async (format, steps, input) => {
        const rowsFormat = rowFormat(jobFor({ format }, steps), manifestOf(columns));
        const bytes = Buffer.concat([rowsFormat.header as Buffer, ...input.map(([a, b, r]) => rowsFormat.row(csvRecord(['x', a, b]), r))]);
        const added = resultColumns(jobFor({ format }, steps), columns);
        const [header, ...read] = await parse(bytes, format === 'csv' ? ',' : '\t');
        expect(header).toEqual([...columns, ...added.names]);
        expect(read).toEqual(asWritten(input.map(([a, b, r]) => ['x', a, b, ...added.read(r, csvRecord(['x', a, b]))])));
      }),
      { numRuns: 200 },
    );
  });

  const USUAL =
    'result.outcome,result.error,enrich.email,enrich.name,enrich.title,' +
    'enrich.company.name,enrich.company.employees,enrich.company.revenue,enrich.company.stack,enrich.verified,verify.result,' +
    'verify.confidence,verify.reason,verify.did_you_mean';
  const COMPANY = ',company.name,company.domain,company.employees,company.revenue,company.industry,company.stack';
  const REVEAL = ',reveal.email,reveal.mobile,reveal.linkedin_url';

  it.each<[readonly Step[], string, string]>([
    [['enrich'], USUAL, 'matched,,,,,,,,,,,,,'],
    [['verify', 'company'], USUAL + COMPANY, 'matched,,,,,,,,,,,,,,Acme,acme.example,12,$2M,Tools,Linux;Go'],
    [['reveal'], USUAL + REVEAL, 'matched,,,,,,,,,,,,,,a@x.example,+12125550100,https://x.example/in/a'],
    [
      STEPS,
      USUAL + COMPANY + REVEAL,
      'matched,,,,,,,,,,,,,,Acme,acme.example,12,$2M,Tools,Linux;Go,a@x.example,+12125550100,https://x.example/in/a',
    ],
  ])('for the steps %j have these columns', (steps, header, row) => {
    const format = rowFormat(jobFor({}, steps), manifestOf(['id']));
    const company = {
      record: { name: 'Acme', domain: 'acme.example', employees: 12, revenue: '$2M', industry: 'Tools', stack: ['Linux', 'Go'] },
      text: '',
    };
    const reveal = { record: { email: 'a@x.example', mobile: '+12125550100', linkedin_url: 'https://x.example/in/a' }, text: '' };
    const result = { outcome: 'matched', error: null, answers: { company, reveal }, failure: null } as const;
    expect(format.header?.toString()).toBe(`id,${header}\n`);
    expect(format.row(csvRecord(['1']), result).toString()).toBe(`1,${row}\n`);
  });

  it('show the address that was used in place of a cleaned one, unless the verifier suggests another', () => {
    const format = rowFormat(jobFor({}), manifestOf(['id']));
    const answer = (meant: string | null): RecordResult['answers'][string] => ({
      record: { email: 'jo@gmial.example', result: 'risky', confidence: null, reason: null, did_you_mean: meant },
      text: '',
    });
    const cell = ({ verify, ...more }: { verify: RecordResult['answers'][string] | null; didYouMean: string | null }): string | undefined =>
      format
        .row(csvRecord(['1']), { outcome: 'matched', error: null, answers: verify === null ? {} : { verify }, failure: null, ...more })
        .toString()
        .trimEnd()
        .split(',')
        .at(-1);
    expect(cell({ verify: null, didYouMean: 'jo@gmial.example' })).toBe('jo@gmial.example');
    expect(cell({ verify: answer(null), didYouMean: 'jo@gmial.example' })).toBe('jo@gmial.example');
    expect(cell({ verify: answer('jo@gmail.example'), didYouMean: 'jo@gmial.example' })).toBe('jo@gmail.example');
    expect(cell({ verify: answer('jo@gmail.example'), didYouMean: null })).toBe('jo@gmail.example');
    expect(cell({ verify: answer(null), didYouMean: null })).toBe('');
    const lines = rowFormat(jobFor({ format: 'jsonl' }), manifestOf(['id']));
    expect(
      JSON.parse(
        lines.row(csvRecord(['1']), { outcome: 'matched', error: null, answers: {}, failure: null, didYouMean: 'jo@x.example' }).toString(),
      ),
    ).toMatchObject({ input: { id: '1' }, result: { outcome: 'matched', did_you_mean: 'jo@x.example' } });
    const named = rowFormat(jobFor({ fields: { Meant: 'result.did_you_mean' } }), manifestOf(['id']));
    expect(
      named.row(csvRecord(['1']), { outcome: 'matched', error: null, answers: {}, failure: null, didYouMean: 'jo@x.example' }).toString(),
    ).toBe('1,jo@x.example\n');
    const asStandard = rowFormat(jobFor({ fields: { Meant: 'verify.did_you_mean' } }), manifestOf(['id']));
    expect(
      asStandard
        .row(csvRecord(['1']), { outcome: 'matched', error: null, answers: {}, failure: null, didYouMean: 'jo@x.example' })
        .toString(),
    ).toBe('1,jo@x.example\n');
  });

  it('have the configured columns instead, by path', async () => {
    const fields = {
      'Job Title': 'enrich.title',
      City: 'enrich.company.hq.city',
      Verdict: 'verify.result',
      Outcome: 'result.outcome',
      None: 'enrich.nothing.there',
    };
    const format = rowFormat(jobFor({ fields }), manifestOf(['email']));
    const record = { title: 'CEO', company: { hq: { city: 'Paris' } } };
    const row = format.row(csvRecord(['a@example.com']), {
      outcome: 'matched',
      error: null,
      answers: { enrich: { record, text: JSON.stringify(record) } },
      failure: null,
    });
    expect(await parse(Buffer.concat([format.header as Buffer, row]), ',')).toEqual([
      ['email', ...Object.keys(fields)],
      ['a@example.com', 'CEO', 'Paris', '', 'matched', ''],
    ]);
  });

  it('guard formulas on request, in input and result alike', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, async (own, name) => {
        const format = rowFormat(jobFor({ escapeFormulas: true, fields: { N: 'enrich.name' } }), manifestOf(['id', 'a']));
        const [row] = await parse(
          format.row(csvRecord(['x', own]), {
            outcome: 'matched',
            error: null,
            answers: { enrich: { record: { name }, text: '' } },
            failure: null,
          }),
          ',',
        );
        expect(row).toEqual(['x', guardFormula(own), guardFormula(name)].map((cell) => cell.toWellFormed()));
        for (const cell of row ?? []) expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
        // Removing one apostrophe restores the value.
        expect(guardFormula(own).replace(/^'(?='*[=+\-@\t\r\n＝＋－＠])/, '')).toBe(own);
      }),
      { numRuns: 200 },
    );
    expect(guardFormula('=1+1')).toBe("'=1+1");
    expect(guardFormula('1=1')).toBe('1=1');
  });

  it('have the values of json records, and a line that could not be parsed in the first column', async () => {
    const format = rowFormat(jobFor({ fields: { O: 'result.outcome' } }), {
      ...manifestOf(['email', 'n', 'deep', 'gone']),
      format: 'jsonl',
    });
    const failed = { outcome: 'invalid', error: 'bad_row', answers: {}, failure: null } as const;
    const rows = Buffer.concat([
      format.row(jsonRecord('{"email":"a@example.com","n":7,"deep":{"a":[1]},"x":1}'), failed),
      format.row(jsonRecord('"{oops"', 'not JSON', '{oops'), failed),
    ]);
    expect(await parse(rows, ',')).toEqual([
      ['a@example.com', '7', '{"a":[1]}', '', 'invalid'],
      ['{oops', '', '', '', 'invalid'],
    ]);
  });
});

describe('rows of jsonl', () => {
  it("have one readable object a line: the input, the outcome and each step's answer", () => {
    fc.assert(
      fc.property(fc.subarray([...STEPS], { minLength: 1 }), text, text, result, (steps, a, b, r) => {
        const format = rowFormat(jobFor({ format: 'jsonl' }, steps), manifestOf(['email', '__proto__']));
        expect(format.header).toBeNull();
        const line = format.row(csvRecord([a, b]), r).toString();
        expect(line.indexOf('\n')).toBe(line.length - 1);
        const expected =
          `{"input":{"email":${JSON.stringify(a)},"__proto__":${JSON.stringify(b)}},"result":` +
          JSON.stringify({ outcome: r.outcome, ...(r.error === null ? {} : { error: r.error }) }) +
          `${steps.map((step) => `,"${step}":${JSON.stringify(r.answers[step]?.record ?? null)}`).join('')}}`;
        expect(JSON.parse(line)).toEqual(JSON.parse(expected));
        expect(Object.keys(JSON.parse(line) as object)).toEqual(['input', 'result', ...steps]);
      }),
      { numRuns: 300 },
    );
  });

  it('take input columns for configured ones, from either format', () => {
    const fields = { Mail: 'input.Work Email', Nothing: 'input.missing' };
    const nothing = { outcome: 'no_match', error: null, answers: {}, failure: null } as const;
    const rows = rowFormat(jobFor({ fields }), manifestOf(['id', 'Work Email']));
    expect(rows.row(csvRecord(['1', 'a@b.example']), nothing).toString()).toBe('1,a@b.example,a@b.example,\n');
    const lines = rowFormat(jobFor({ format: 'jsonl', fields }), manifestOf([]));
    expect(lines.row(jsonRecord('{"Work Email":"a@b.example"}'), nothing).toString()).toBe(
      '{"input":{"Work Email":"a@b.example"},"Mail":"a@b.example","Nothing":""}\n',
    );
    expect(lines.row(jsonRecord('"{broken"', 'not valid JSON', '{broken'), nothing).toString()).toBe(
      '{"input":"{broken","Mail":null,"Nothing":null}\n',
    );
  });

  it('keep a json record verbatim', () => {
    const format = rowFormat(jobFor({ format: 'jsonl', fields: { T: 'enrich.title' } }), manifestOf([]));
    const input = '{"big": 12345678901234567890, "twice": 1, "twice": 2, "s": "\\u00e9"}';
    expect(format.row(jsonRecord(input), { outcome: 'no_match', error: null, answers: {}, failure: null }).toString()).toBe(
      `{"input":${input},"T":null}\n`,
    );
  });
});

describe('the cells of a result', () => {
  it.each([
    [undefined, ''],
    [null, ''],
    ['x', 'x'],
    [0, '0'],
    [false, 'false'],
    [true, 'true'],
    [['a', 'b'], 'a;b'],
    [[1, null, { a: 1 }], '1;;{"a":1}'],
    [{ a: 'b' }, '{"a":"b"}'],
    [[], ''],
  ])('%j is %j', (value, cell) => {
    expect(toCell(value)).toBe(cell);
  });

  it("come from a record's own properties, never from its prototype", () => {
    const r = { outcome: 'matched', error: null, answers: { enrich: { record: { name: 'x' }, text: '' } }, failure: null } as const;
    for (const path of [
      'enrich.constructor',
      'enrich.__proto__',
      'enrich.name.length',
      'enrich.toString.name',
      'verify.result',
      'nothing',
      'failure.code',
      '',
    ])
      expect(readPath(path, [])(r, csvRecord([]))).toBeUndefined();
  });
});

describe('rows of a job that names its providers', () => {
  const job = (format: 'csv' | 'jsonl'): CompiledJob => ({
    ...jobFor({ format }, ['enrich', 'verify', 'company']),
    namesProviders: true,
  });
  const enriched = {
    email: 'a@b.example',
    title: 'CTO',
    linkedin_url: 'x',
    company: { name: 'B' },
    source: { email: 'pdl', title: 'hunter', linkedin_url: 'pdl', 'company.name': 'pdl' },
  };
  const result = {
    outcome: 'matched',
    error: null,
    failure: null,
    answers: {
      enrich: { record: enriched, text: JSON.stringify(enriched) },
      verify: {
        record: { email: 'a@b.example', result: 'risky', confidence: null, reason: null, source: 'hunter' },
        text: '{"source":"hunter"}',
      },
    },
  } as const;
  const manifest = { columns: ['email'], types: [] } as unknown as InputManifest;
  const record = { values: ['a@b.example'], json: null, bad: null, raw: null } as unknown as InputRecord;

  it('say in a column for each step where the values of its columns come from', () => {
    const format = rowFormat(job('csv'), manifest);
    const names = String(format.header).trimEnd().split(',');
    const cells = String(format.row(record, result)).trimEnd().split(',');
    const cell = (name: string): string | undefined => cells[names.indexOf(name)];
    expect(names.slice(-3)).toEqual(['enrich.source', 'verify.source', 'company.source']);
    expect(cell('enrich.source')).toBe('email=pdl;title=hunter;company.name=pdl');
    expect([cell('verify.source'), cell('company.source')]).toEqual(['hunter', '']);
  });

  it('have the source of every field within the record in JSON lines', () => {
    const line = JSON.parse(String(rowFormat(job('jsonl'), manifest).row(record, result))) as { enrich: { source: unknown } };
    expect(line.enrich.source).toEqual(enriched.source);
  });

  it('may have the source of one field in a column of its own', () => {
    const format = rowFormat(
      { ...job('csv'), output: { ...job('csv').output, fields: { Who: 'enrich.source.title', All: 'enrich.source' } } },
      manifest,
    );
    expect(String(format.row(record, result))).toBe('a@b.example,hunter,email=pdl;title=hunter;company.name=pdl\n');
  });

  it('names the source of a field that only its own columns show', () => {
    const fields = { Profile: 'enrich.linkedin_url', All: 'enrich.source' };
    const format = rowFormat({ ...job('csv'), output: { ...job('csv').output, fields } }, manifest);
    expect(String(format.row(record, result))).toMatch(/email=pdl;title=hunter;linkedin_url=pdl;company\.name=pdl\n$/);
  });
});
