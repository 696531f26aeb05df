/** docs/custom-steps.md, as a reader follows it: its files are written, and its job runs against a vendor of that kind. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { keys, rowsOf, start, writePeople } from '../providers/jobs.ts';
import { numberOf, startNumbers } from '../providers/stand-ins/numbers.ts';
import { findPerson } from '../providers/stand-ins/world.ts';
import { makeFolder, startService } from '../support/world.ts';

const PEOPLE = 40;
const PAGE = readFileSync('docs/custom-steps.md', 'utf8');
const FILES = [...PAGE.matchAll(/^```yaml file=(\S+)\n([^]*?)^```$/gm)];

test('the job of the page asks for the lines of the people that its condition means, by the numbers that enrich found', async () => {
  const [folder, service, lines] = await Promise.all([makeFolder(), startService(), start(startNumbers)]);
  service.script = ({ path, keys: asked }, _response, reply, usual) => {
    const i = findPerson({ email: asked[0] ?? '' }) ?? 0;
    if (path === 'verify') {
      const data = asked.map((email) => ({ email, result: (findPerson({ email }) ?? 0) % 7 === 0 ? 'risky' : 'deliverable' }));
      return reply({ ...usual(), body: JSON.stringify({ data }) });
    }
    const company = { employees: i % 2 === 0 ? 20 : 80 };
    const title = i % 5 === 0 ? 'Engineer' : 'Senior VP Sales';
    return reply({ status: 200, body: JSON.stringify({ name: `Person ${i}`, title, mobile: numberOf(i), company }) });
  };
  for (const [, file = '', text = ''] of FILES) await writeFile(folder.at(file), text);
  await writePeople(folder, PEOPLE);
  await writeFile(folder.at('leads.csv'), await folder.read('in.csv'));
  expect(FILES.map(([, file]) => file)).toEqual(['lines.yaml', 'job.yaml']);
  const at = ['--providers.millrace.baseUrl', service.url, '--providers.lines.baseUrl', lines.url];
  const env = { env: keys('millrace', 'lines') };
  expect(await folder.run(['provider', 'check', 'lines.yaml', '--json'], env)).toMatchObject({ code: 0 });
  expect(await folder.run(['run', 'job.yaml', '--progress', 'none', ...at], env)).toMatchObject({ code: 0, stderr: '' });
  const rows = await rowsOf(folder, 'lines.csv');
  const meant = rows.map((_, i) => i).filter((i) => i % 2 === 1 && i % 5 !== 0 && i % 7 !== 0 && i % 10 !== 9);
  expect(rows.flatMap((row, i) => (row['phone.line_type'] === '' ? [] : [i]))).toEqual(meant);
  expect(lines.counts.charged).toBe(meant.length);
});
