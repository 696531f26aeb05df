/** The page in a real browser: it opens from a disk, sends no request, and obeys its own content security policy. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as fc from '../../../support/fast-check.ts';
import { expect, test } from 'vitest';
import type { PageData } from '../../../../src/job/report/page/page-data.ts';
import { reportPage } from '../../../../src/job/report/page/report-page.ts';
import { ensurePackage } from '../../../services/debian.ts';
import { BROWSER, showPage } from '../../../support/browser.ts';
import { pageData } from './samples.ts';

test.runIf(ensurePackage(BROWSER))("the report page in a browser of a phone's width fits, sends no request and logs no error", async () => {
  const [made] = fc.sample(pageData, { numRuns: 1, seed: 5 }) as [PageData];
  const hostile = '</title><script>document.body.remove()</script><img src=http://127.0.0.1/x>';
  const data: PageData = {
    ...made,
    report: {
      ...made.report,
      job: hostile,
      exitCode: 1,
      records: { total: 10_000, matched: 7_600, no_match: 1_000, invalid: 0, suppressed: 0, failed: 1_400 },
    },
  };
  const folder = await mkdtemp(join(tmpdir(), 'page-'));
  try {
    const path = join(folder, 'out.csv.report.html');
    await writeFile(path, reportPage(data));
    const url = pathToFileURL(path).href;
    const { text, widths, requests, complaints } = await showPage(url, 400);
    expect(complaints).toEqual([]);
    expect(requests).toEqual([url]);
    expect(text).toContain(hostile);
    expect(text).toContain('Finished with exit code 1');
    expect(text).toMatch(/matched found\s+7,600\s+76\.0 %/);
    for (const title of ['What to do next', 'Outcomes', 'Verdicts', 'Requests against quota', 'Waits', 'Latency', 'Errors', 'Cost'])
      expect(text).toContain(title);
    // Wide elements scroll by themselves.
    expect(widths.window).toBeLessThanOrEqual(400);
    expect(widths.page).toBe(widths.window);
  } finally {
    await rm(folder, { recursive: true });
  }
});
