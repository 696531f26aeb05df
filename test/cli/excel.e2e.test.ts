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

test('an output is written as its input, in one piece, in shards, on standard output, by verdict and by a retry', async () => {
  const { folder, service, args } = await makeWorld('\ufeffFirma;E-Mail-Adresse\n"A;B";a1@works.example\nC;fails@works.example\n');
  let fails = true;
  service.script = (asked, _response, reply, usual) => {
    if (fails && asked.keys.includes('fails@works.example')) reply({ status: 422, body: '{"code":"validation_failed"}' });
    else reply(usual());
  };
  const job = {
    steps: 'enrich,verify',
    'max-errors': '100%',
    'limits.trustMisses': true,
    'output.split': 'verdict',
    'output.fields': '{"Treffer":"result.outcome","Urteil":"verify.result"}',
  };
  const head = '\ufeffFirma;E-Mail-Adresse;Treffer;Urteil\n"A;B";a1@works.example;matched;';
  expect(await folder.run(args(job))).toMatchObject({ code: 0 });
  const first = await folder.read('out.csv');
  expect(first.startsWith(head)).toBe(true);
  expect(first).toContain('\nC;fails@works.example;failed;');
  fails = false;
  const [, ...rest] = args(job);
  expect(await folder.run(['retry', ...rest])).toMatchObject({ code: 0 });
  const whole = await folder.read('out.csv');
  expect(whole).toContain('\nC;fails@works.example;matched;');
  const verdict = /;matched;(\w+)\n/.exec(whole)?.[1] ?? '';
  expect((await folder.read(`out.${verdict}.csv`)).startsWith(`${head}${verdict}\n`)).toBe(true);
  for (const shard of ['0/2', '1/2']) await folder.run(args({ ...job, output: 'shards.csv', shard }));
  expect(await folder.read('shards.csv')).toBe(whole);
  const { stdout } = await folder.run(args({ ...job, 'output.split': false, output: '-' }));
  expect(stdout).toBe(whole);
});

test.each([
  ['leads.csv', 'email|name\na1@works.example|A\n', 'out.csv', 'email|name|found\na1@works.example|A|matched\n'],
  ['leads.csv', 'email;name\na1@works.example;A\n', 'out.tsv', 'email\tname\tfound\na1@works.example\tA\tmatched\n'],
  ['leads.tsv', '\ufeffemail\tname\na1@works.example\tA\n', 'out.csv', '\ufeffemail,name,found\na1@works.example,A,matched\n'],
  ['leads.jsonl', '\ufeff{"email":"a1@works.example"}\n', 'out.csv', 'email,found\na1@works.example,matched\n'],
])('%s with %j makes %s with %j', async (input, text, output, expected) => {
  const { folder, args } = await makeWorld('email\n');
  await writeFile(folder.at(input), text);
  const job = { steps: 'enrich', input, output, 'output.fields': '{"found":"result.outcome"}' };
  expect(await folder.run(args(job))).toMatchObject({ code: 0 });
  expect(await folder.read(output)).toBe(expected);
});

test('an output for another program is written as the job says, whatever its input', async () => {
  const { folder, args } = await makeWorld('\ufeffemail;name\na1@works.example;A\n');
  const job = { steps: 'enrich', 'output.delimiter': ',', 'no-output.bom': true, 'output.fields': '{"found":"result.outcome"}' };
  expect(await folder.run(args(job))).toMatchObject({ code: 0 });
  expect(await folder.read('out.csv')).toBe('email,name,found\na1@works.example,A,matched\n');
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
