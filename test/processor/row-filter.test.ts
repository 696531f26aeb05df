import { expect, test } from 'vitest';
import { parseCondition } from '../../src/definition/condition/parse-condition.ts';
import { compileConditions, conditionsSchema } from '../../src/definition/conditions.ts';
import { unknownColumn } from '../../src/processor/cell-reader.ts';
import { columnsRead, rowFilter } from '../../src/processor/row-filter.ts';
import { freeze, put, readAll, scratchFolder } from '../formats/helpers.ts';

const folder = scratchFolder();
let files = 0;

/** Whether each record of a file is looked up under these conditions. */
async function wanted(name: string, content: string, where: unknown): Promise<boolean[]> {
  const manifest = await freeze(await put(folder, `${files++}/${name}`, content));
  return (await readAll(manifest)).map(rowFilter(manifest, compiled(where)));
}

function compiled(where: unknown): Parameters<typeof rowFilter>[1] {
  const written = conditionsSchema.parse(where);
  return typeof written === 'string' ? { text: written, root: parseCondition(written) } : compileConditions(written);
}

const CSV = 'Opted Out,E-Mail,employees\nYES ,a@x.example,50\ntrue,,51\n,b@x.example,50\nno, \u00a0 ,0\nempty,"c@x.example",50.0\n';

test.each<[unknown, boolean[]]>([
  [null, [true, true, true, true, true]],
  [{ 'Opted Out': 'yes' }, [true, false, false, false, false]],
  [{ opted_out: ['yes', true] }, [true, true, false, false, false]],
  [{ opted_out: { not: ['yes', 'true'] } }, [false, false, true, true, true]],
  [{ opted_out: 'Empty' }, [false, false, true, false, false]],
  [{ opted_out: { not: ['empty', 'no'] } }, [true, true, false, false, true]],
  [{ email: 'empty' }, [false, true, false, true, false]],
  [{ email: { not: 'empty' } }, [true, false, true, false, true]],
  [{ employees: 50 }, [true, false, true, false, false]],
  [{ employees: { not: [50, 0] } }, [false, true, false, false, true]],
  [{ opted_out: { not: 'yes' }, email: 'empty' }, [false, true, false, true, false]],
  ['input."Opted Out" = "yes"', [true, false, false, false, false]],
  ['not input.opted_out in ["yes", true]', [false, false, true, true, true]],
  ['input.employees >= 50 and input.email is not empty', [true, false, true, false, true]],
  ['input.employees = 50', [true, false, true, false, true]],
])('where %j holds for the right rows of a table', async (where, expected) => {
  expect(await wanted('in.csv', CSV, where)).toEqual(expected);
});

test('members of JSON objects are compared by their text, and an absent one is empty', async () => {
  const lines =
    '{"email":"a@x.example","out":true,"n":12345678901234567890}\n{"email":"b@x.example","out":null}\n{"email":"c@x.example"}\n' +
    '{"email":"d@x.example","out":["a"]}\n{"email":5}\n';
  expect(await wanted('in.jsonl', lines, { out: { not: true } })).toEqual([false, true, true, true, true]);
  expect(await wanted('in.jsonl', lines, { out: 'empty' })).toEqual([false, true, true, false, true]);
  expect(await wanted('in.jsonl', lines, { n: '12345678901234567890' })).toEqual([true, false, false, false, false]);
  expect(await wanted('in.jsonl', lines, { email: 'empty' })).toEqual([false, false, false, false, false]);
});

test('a key is meant where no column has its name, in each file by its own header', async () => {
  await put(folder, 'two/1.csv', 'Work Email,Note\na@x.example,x\n,y\n');
  await put(folder, 'two/2.csv', 'Note,Courriel\nx,\ny,b@x.example\n');
  const manifest = await freeze(`${folder}/two`);
  const filter = rowFilter(manifest, compileConditions({ email: 'empty' }));
  expect((await readAll(manifest)).map(filter)).toEqual([false, true, true, false]);
  expect(await wanted('in.jsonl', '{"Work Email":"a@x.example"}\n{"Work Email":""}\n', { email: 'empty' })).toEqual([false, true]);
});

test('the first name is reported that no file has', async () => {
  const manifest = await freeze(await put(folder, 'one.csv', CSV));
  const named = (where: unknown): string | null => unknownColumn(manifest, columnsRead(compiled(where)));
  expect([named(null), named({ email: 'empty', 'opted-out': 1 }), named({ optout: 'no' }), named('input.domain is empty')]).toEqual([
    null,
    null,
    'optout',
    'domain',
  ]);
});
