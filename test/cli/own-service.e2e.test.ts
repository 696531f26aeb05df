import { chmod, readFile, writeFile } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { expect, test } from 'vitest';
import { BUNDLE } from '../support/cli.ts';
import { makeFolder } from '../support/world.ts';

const CRM = `Full Name,Work Email,Email Status,Website,Job Title,Mobile,LinkedIn
Ada Example,ada@acme.example,verified,acme.example,CTO,+12125550100,https://www.linkedin.com/in/ada-example
Bob Sample,bob@acme.example,verified,acme.example,Engineer,,https://www.linkedin.com/in/bob-sample
Nobody,,,,,,
`;
const ACCOUNTS = `Company,Website,# Employees,Industry,Annual Revenue,Stack
Acme,https://www.acme.example,120,Tools,$12M,Linux;Postgres
`;
/** Today, because verification ignores deliveries older than 90 days. */
const MAILS = `email,event,at
ada@acme.example,delivered,${new Date().toISOString()}
bob@acme.example,delivered,${new Date().toISOString()}
`;
const LEADS = `Note,Work E-Mail,Website,LinkedIn
Ada, ADA@acme.example ,,linkedin.com/in/Ada-Example/
Bob,bob@acme.example,,
"Somebody, there",,www.acme.example/about,
Zoe,,zenith.example,https://uk.linkedin.com/in/bob-sample?trk=x
Max,not an address,,
`;

const ACME = 'Acme,120,$12M,Linux;Postgres';
const COMPANY = 'Acme,acme.example,120,$12M,Tools,Linux;Postgres';
const HEADER = [
  'Note,Work E-Mail,Website,LinkedIn,result.outcome,result.error,enrich.email,enrich.name,enrich.title',
  'enrich.company.name,enrich.company.employees,enrich.company.revenue,enrich.company.stack,enrich.verified',
  'verify.result,verify.confidence,verify.reason,verify.did_you_mean',
  'company.name,company.domain,company.employees,company.revenue,company.industry,company.stack',
  'reveal.email,reveal.mobile,reveal.linkedin_url',
].join();
const ADA_URL = 'https://www.linkedin.com/in/ada-example';
const BOB_URL = 'https://www.linkedin.com/in/bob-sample';
const DELIVERABLE = 'true,deliverable,100,recorded_delivery,';
const ADA = `ada@acme.example,Ada Example,CTO,${ACME},${DELIVERABLE},${COMPANY},ada@acme.example,+12125550100,${ADA_URL}`;
const ENRICHED = `${HEADER}
Ada, ADA@acme.example ,,linkedin.com/in/Ada-Example/,matched,,${ADA}
Bob,bob@acme.example,,,matched,,bob@acme.example,Bob Sample,Engineer,${ACME},true,deliverable,100,recorded_delivery,,${COMPANY},,,
"Somebody, there",,www.acme.example/about,,matched,,,,,${ACME},false,,,,,${COMPANY},,,
Zoe,,zenith.example,https://uk.linkedin.com/in/bob-sample?trk=x,no_match,,,,,,,,,,,,,,,,,,,,bob@acme.example,,${BOB_URL}
Max,not an address,,,invalid,bad_email,,,,,,,,,,,,,,,,,,,,,
`;

/** The commands of the page's first three blocks, in order. */
async function commandsOf(page: string): Promise<string[]> {
  const blocks = [...(await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8')).matchAll(/^```\n([^]*?)^```$/gm)].slice(0, 3);
  return blocks.flatMap(([, block = '']) => block.split('\n').filter((line) => /^(?:export|millrace) /.test(line)));
}

test('the commands of docs/operating.md lead from your own files to an enriched file through your own service', async () => {
  const folder = await makeFolder();
  for (const [name, text] of Object.entries({
    'crm.csv': CRM,
    'accounts.csv': ACCOUNTS,
    'mails.csv': MAILS,
    'leads.csv': LEADS,
    millrace: `#!/bin/sh\nexec "${process.execPath}" "${BUNDLE}" "$@"\n`,
  }))
    await writeFile(folder.at(name), text);
  await chmod(folder.at('millrace'), 0o755);
  const env: Record<string, string> = { PATH: `${folder.path}${delimiter}${process.env['PATH'] ?? ''}`, MILLRACE_API_KEY: '' };
  const said: string[] = [];
  let url = '';
  for (const written of await commandsOf('operating.md')) {
    const command = written.replace('--port 8080', '--port 0').replaceAll('http://127.0.0.1:8080', url);
    const [, name, value] = /^export (\w+)=(.*)$/.exec(command) ?? [];
    if (name !== undefined) {
      env[name] = value ?? '';
    } else if (command.endsWith(' &')) {
      const served = folder.start(['-c', `exec ${command.slice(0, -2)}`], { env, program: ['sh'] });
      await served.says(/^\{"url":/m);
      url = (JSON.parse(served.stdout()) as { url: string }).url;
    } else {
      const ended = await folder.start(['-c', command], { env, program: ['sh'] }).ended;
      expect(ended, command).toMatchObject({ code: 0 });
      said.push(ended.stdout);
    }
  }
  expect(await folder.read('enriched.csv')).toBe(ENRICHED);
  expect(await folder.json('enriched.csv.report.json')).toMatchObject({
    records: { total: 5, matched: 3, no_match: 1, invalid: 1, suppressed: 0, failed: 0 },
    calls: { enrich: 4, verify: 1, company: 2, reveal: 2 },
    credits: 8,
  });
  const [imported, , planned, , again] = said;
  expect(imported).toContain(
    '"contacts":{"read":3,"added":2,"updated":0,"unchanged":0,"rejected":{"no_identity":1},' +
      '"dropped":{},"surplus":0,"skipped":0,"companies":{"added":0,"updated":0}}',
  );
  expect(planned).toContain('9 (enrich 4, verify 1, company 2, reveal 2)');
  expect(JSON.parse(again ?? '')).toMatchObject({ contacts: { read: 5, added: 0, skipped: 2 } });
});

test('a step whose column is missing is refused before any credit is spent', async () => {
  const folder = await makeFolder();
  await writeFile(folder.at('in.csv'), 'Work Email,Website\nada@acme.example,acme.example\n');
  const ended = await folder.run(
    ['run', '--input', 'in.csv', '--output', 'out.csv', '--steps', 'enrich,reveal', '--base-url', 'http://127.0.0.1:9', '--rpm', '600'],
    { env: { MILLRACE_API_KEY_FILE: 'key' } },
  );
  expect(ended.stderr).toMatch(/^millrace: MILLRACE_API_KEY and MILLRACE_API_KEY_FILE are both set: the key is that of MILLRACE_API_KEY$/m);
  expect(ended).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('The input has no column of linkedin_url for the step reveal: it has "Work Email", "Website".'),
  });
  expect(await folder.files()).toEqual(['in.csv']);
});
