/** The columns that a job uses, as run, plan and init show them. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { makeWorld } from '../support/world.ts';

const TABLE =
  'Name;E-Mail (geschäftlich);E-Mail (privat);Webseite:\n' +
  'Ada Lind;ada@works.example;a.lind@home.example;www.works.example\n' +
  'Bob Ray;bob@works.example;;mill.example\n';

test('run, plan and init show each column with three masked values, and name addresses that are not used', async () => {
  const { folder, args } = await makeWorld(TABLE);
  const unused = 'column "E-Mail (privat)" looks like addresses and is not used';
  const { stdout } = await folder.run(['plan', ...args({ progress: false }).slice(1)]);
  expect(stdout).toContain('email from "E-Mail (geschäftlich)", such as a***@works.example, b***@works.example');
  expect(stdout).toContain('domain from "Webseite:", such as www.works.example, mill.example');
  expect(stdout).toContain(unused);
  expect(stdout).not.toContain('ada@');
  const json = await folder.run(['plan', ...args({ progress: false }).slice(1), '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({
    columns: [
      { key: 'email', column: 'E-Mail (geschäftlich)', samples: ['a***@works.example', 'b***@works.example'] },
      { key: 'domain', column: 'Webseite:', samples: ['www.works.example', 'mill.example'] },
    ],
    warnings: [expect.stringContaining(unused)],
  });
  const { code, stderr } = await folder.run(args({ progress: 'log' }));
  expect(code).toBe(0);
  expect(stderr).toContain('a***@works.example');
  expect(stderr).toContain('is not used');
  expect(stderr).not.toContain('ada@');
  const written = await folder.run(['init', 'in.csv']);
  expect(written.code).toBe(0);
  const job = await folder.read(written.stdout.trim());
  expect(job).toContain('    email: "E-Mail (geschäftlich)"   # a***@works.example, b***@works.example\n');
  expect(job).toContain(`  # ${unused}`);
});

test('a job that verifies and has no address says so, before and after', async () => {
  const { folder, args } = await makeWorld('Webseite\nmiss.example\n');
  const { stderr } = await folder.run(args({ steps: 'enrich,verify', progress: 'log', 'limits.trustMisses': true }));
  expect(stderr).toContain('no column of addresses was found');
  expect(stderr).toContain('verify had nothing to do');
  await writeFile(folder.at('in2.csv'), 'Email\nN/A\n-\n');
  const alone = await folder.run(args({ steps: 'verify', progress: 'log', input: 'in2.csv', output: 'out2.csv' }));
  expect(alone.stderr).toContain('verify had nothing to do');
});
