/** Files as spreadsheets write and read them. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { flags, makeWorld } from '../support/world.ts';

test('an output for Excel has its delimiter, its byte order mark and its line ends, and a retry keeps them', async () => {
  const { folder, service, args } = await makeWorld('Firma;E-Mail-Adresse\n"A;B";a1@works.example\nC;fails@works.example\n');
  let fails = true;
  service.script = (asked, _response, reply, usual) => {
    if (fails && asked.keys.includes('fails@works.example')) reply({ status: 422, body: '{"code":"validation_failed"}' });
    else reply(usual());
  };
  const job = {
    steps: 'enrich',
    'output.delimiter': ';',
    'output.bom': true,
    'output.lineEnds': 'crlf',
    'max-errors': '100%',
    'limits.trustMisses': true,
    'output.fields': '{"Name":"input.Firma","Treffer":"result.outcome"}',
  };
  const head = '\ufeffFirma;E-Mail-Adresse;Name;Treffer\r\n"A;B";a1@works.example;"A;B";matched\r\nC;fails@works.example;C;';
  expect(await folder.run(args(job))).toMatchObject({ code: 0 });
  expect(await folder.read('out.csv')).toBe(`${head}failed\r\n`);
  fails = false;
  const [, ...rest] = args(job);
  expect(await folder.run(['retry', ...rest])).toMatchObject({ code: 0 });
  expect(await folder.read('out.csv')).toBe(`${head}matched\r\n`);
});

test.each([
  ['output.delimiter', ';'],
  ['output.bom', true],
  ['output.lineEnds', 'crlf'],
])('%s is refused for a jsonl output', async (key, value) => {
  const { folder, args } = await makeWorld('email\na@works.example\n');
  expect(await folder.run(args({ output: 'out.jsonl', [key]: value }))).toMatchObject({
    code: 64,
    stderr: expect.stringContaining(`--${key} is for csv and tsv`),
  });
});

test('a file with a title above its header, and one without a header, run to the end', async () => {
  const { folder, args } = await makeWorld('Export of 1 May\n"not closed\nName,Correo electrónico\nAda,a1@works.example\n');
  expect(await folder.run(args({ steps: 'enrich', 'input.skipLines': '2' }))).toMatchObject({ code: 0 });
  expect((await folder.read('out.csv')).split('\n').slice(0, 2)).toEqual([
    expect.stringMatching(/^Name,Correo electrónico,result\.outcome,/),
    expect.stringMatching(/^Ada,a1@works\.example,matched,/),
  ]);
  await writeFile(folder.at('raw.csv'), 'Ada,a1@works.example\nBob,a2@works.example\n');
  const raw = flags({ steps: 'enrich', input: 'raw.csv', output: 'raw-out.csv' });
  const [, ...base] = args({ input: false, output: false });
  expect(await folder.run(['run', ...base, ...raw, '--no-input.header'])).toMatchObject({ code: 0 });
  expect((await folder.read('raw-out.csv')).split('\n').slice(0, 2)).toEqual([
    expect.stringMatching(/^column_1,column_2,result\.outcome,/),
    expect.stringMatching(/^Ada,a1@works\.example,matched,/),
  ]);
});
