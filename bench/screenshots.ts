/**
 * Takes the pictures of docs/screenshots: the terminal, the report, the live page and the reference of the service.
 * `npm run build && node bench/screenshots.ts [NAME...]`. It needs python3 and chromium-headless-shell (Debian's packages).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withPage, type Page } from '../test/support/browser.ts';
import { Screen, type Cell } from '../test/support/screen.ts';
import { terminalPage } from './support/terminal-page.ts';

const here = import.meta.dirname;
const cli = join(here, '../dist/cli/millrace.js');
const target = join(here, '../docs/screenshots');
const folder = mkdtempSync(join(tmpdir(), 'millrace-pictures-'));
const SCHEMES = ['light', 'dark'] as const;
const PIXELS_A_COLUMN = 7.9;
const PIXELS_A_LINE = 17.55;
/** A run of some twenty seconds, so that there is something to see. */
const FLAGS = ['-i', 'leads.csv', '-o', 'enriched.csv', '--embedded', '--rpm', '1200'];
const COMMAND = `millrace run ${FLAGS.join(' ')}`;

const wanted = process.argv.slice(2);
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name);

mkdirSync(target, { recursive: true });
try {
  if (isWanted('terminal')) for (const columns of [80, 160]) await terminal(columns);
  if (isWanted('live')) await live();
  if (isWanted('report')) await report();
  if (isWanted('reference')) await reference();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** A new working folder with the leads of the sample. */
function workFolder(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  cpSync(join(here, '../fixtures/leads.csv'), join(path, 'leads.csv'));
  return path;
}

async function terminal(columns: number): Promise<void> {
  const driver = join(here, '../test/support/pseudo-terminal.py');
  const command = [process.execPath, cli, 'run', ...FLAGS];
  const env = { ...process.env, TERM: 'xterm-256color', FORCE_COLOR: '1' };
  const child = spawn('python3', [driver, `${columns}x50`, ...command], {
    cwd: workFolder(`terminal-${columns}`),
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let raw = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (raw += text));
  await once(child, 'close');
  const redraws = raw.slice(0, raw.lastIndexOf('{"code"')).split(/(?=\u001b\[J)/);
  const screen = new Screen(columns);
  let running: Cell[][] = [];
  for (const piece of redraws) {
    screen.write(piece);
    // In the middle of the run the bar has rates, an estimate and outcomes.
    if (/\] [4-8]\d%/.test(screen.lines.join('\n'))) running = screen.cells.map((line) => [...line]);
  }
  for (const [name, cells] of [
    ['running', running],
    ['end', screen.cells],
  ] as const) {
    const page = join(folder, 'terminal.html');
    writeFileSync(page, terminalPage(COMMAND, cells, columns));
    const height = Math.ceil((cells.length + 1) * PIXELS_A_LINE) + 36;
    await picture(pathToFileURL(page).href, `terminal-${columns}-${name}`, Math.ceil(columns * PIXELS_A_COLUMN) + 36, height);
  }
}

async function live(): Promise<void> {
  // Rows of enrich alone are written all the time, those of verify a thousand at a time.
  const run = start(['run', ...FLAGS, '--steps', 'enrich', '--monitor', '0', '--progress', 'log'], workFolder('live'));
  const url = await says(run, /the run shows itself at (http:\S+)/);
  await withPage(1100, async (page) => {
    await page.open(url);
    await page.until('document.getElementById("done").value > 0.4');
    await takeBoth(page, 'live-running');
    await page.until('/finished/i.test(document.body.innerText)');
    await takeBoth(page, 'live-end');
  });
  await once(run, 'close');
}

async function report(): Promise<void> {
  const cwd = workFolder('report');
  const run = start(['run', ...FLAGS, '--service.creditPrice', '0.012 EUR', '--progress', 'none'], cwd);
  await once(run, 'close');
  await picture(pathToFileURL(join(cwd, 'enriched.csv.report.html')).href, 'report', 1100);
  await picture(pathToFileURL(join(cwd, 'enriched.csv.report.html')).href, 'report-phone', 390);
}

async function reference(): Promise<void> {
  const service = start(['serve', '--sample', '--port', '0'], workFolder('reference'));
  const url = await says(service, /(http:\/\/127\.0\.0\.1:\d+)/);
  await withPage(1280, async (page) => {
    await page.open(`${url}/docs`);
    // The page builds itself after the load event.
    await page.until("document.body.innerText.includes('Client Libraries')");
    await takeBoth(page, 'reference', 900);
  });
  service.kill();
  await once(service, 'close');
}

function start(args: readonly string[], cwd: string): ChildProcess {
  return spawn(process.execPath, [cli, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The first group of what the process says. */
async function says(child: ChildProcess, what: RegExp): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        const found = what.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
    child.once('close', () => reject(new Error(`the command ended: ${text}`)));
  });
}

/** @param height in pixels; left out for the whole page */
async function picture(url: string, name: string, width: number, height?: number): Promise<void> {
  await withPage(width, async (page) => {
    await page.open(url);
    await takeBoth(page, name, height);
  });
}

async function takeBoth(page: Page, name: string, height?: number): Promise<void> {
  for (const scheme of SCHEMES) {
    await page.emulate({ scheme });
    const file = join(target, `${name}-${scheme}.png`);
    writeFileSync(file, await page.picture(height));
    process.stdout.write(`${file}: ${Math.round(readFileSync(file).length / 1024)} KiB\n`);
  }
}
