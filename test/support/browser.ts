/** Pages in Debian's Chromium without a window, controlled over two pipes (the DevTools protocol). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

export const BROWSER = 'chromium-headless-shell';

const LONGEST_WAIT_MS = 60_000;

export interface Shown {
  /** The visible text. */
  readonly text: string;
  /** The width of the page and of the window, in pixels. */
  readonly widths: { readonly page: number; readonly window: number };
  /** All requested urls; the page itself comes first. */
  readonly requests: readonly string[];
  /** Errors and warnings of the browser. */
  readonly complaints: readonly string[];
}

/** A page in a browser of its own. */
export interface Page {
  /** Resolves after the load event. A new fragment of the same page has none: set `location.hash` instead. */
  open(url: string): Promise<void>;
  /** The value of an expression, awaited when it is a promise. It must be JSON. @throws Error with the message of the page's own */
  evaluate(expression: string): Promise<unknown>;
  /** Resolves when an expression is true; looked at before each frame. */
  until(expression: string): Promise<void>;
  /** Shows the page in the dark or light mode of the system, on the screen or on paper. */
  emulate(media: { readonly scheme?: 'dark' | 'light'; readonly type?: 'print' | 'screen' }): Promise<void>;
  /** A PNG of the page from its top. @param height in pixels; left out for the whole page */
  picture(height?: number): Promise<Buffer>;
  /** Presses a key such as `Tab`, `Enter` or `k`, with Control when asked to. */
  press(key: string, withControl?: boolean): Promise<void>;
  /** Puts text where the focus is. */
  type(text: string): Promise<void>;
  readonly requests: readonly string[];
  readonly complaints: readonly string[];
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly type?: string;
    readonly args?: readonly { readonly value?: unknown; readonly description?: string }[];
    readonly request?: { readonly url: string };
    readonly entry?: { readonly text: string };
    readonly exceptionDetails?: { readonly text: string };
  };
  readonly result?: {
    readonly targetId?: string;
    readonly sessionId?: string;
    readonly data?: string;
    readonly result?: { readonly value: unknown };
    readonly exceptionDetails?: { readonly text: string; readonly exception?: { readonly description?: string } };
  };
  readonly error?: { readonly message: string };
}

/** @param width of the window in pixels */
export async function showPage(url: string, width: number): Promise<Shown> {
  return withPage(width, async (page) => {
    await page.open(url);
    const text = String(await page.evaluate('document.body.innerText'));
    const widths = (await page.evaluate(
      '({ page: document.documentElement.scrollWidth, window: document.documentElement.clientWidth })',
    )) as Shown['widths'];
    return { text, widths, requests: page.requests, complaints: page.complaints };
  });
}

/** Ends the browser when `use` is done. @param width of the window in pixels */
export async function withPage<T>(width: number, use: (page: Page) => Promise<T>): Promise<T> {
  const profile = await mkdtemp(join(tmpdir(), 'browser-'));
  // Chromium has no sandbox for root, as in a container.
  const words = [
    '--no-sandbox',
    '--disable-gpu',
    `--window-size=${width},800`,
    `--user-data-dir=${profile}`,
    '--remote-debugging-pipe',
    'about:blank',
  ];
  // Debian starts the browser from a shell script: a group of its own, so that both end.
  const browser = spawn(BROWSER, words, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true });
  const ended = once(browser, 'exit');
  try {
    const [, , , input, output] = browser.stdio as unknown as [null, null, null, Writable, Readable];
    return await use(await openTab(input, output, ended));
  } finally {
    if (browser.pid !== undefined) process.kill(-browser.pid, 'SIGKILL');
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function openTab(input: Writable, output: Readable, ended: Promise<unknown>): Promise<Page> {
  const heard: Message[] = [];
  const wake = new Set<() => void>();
  // A browser that has ended accepts no input. The pending command reports it.
  input.on('error', () => undefined);
  let rest = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\0');
    rest = parts.pop() ?? '';
    for (const part of parts) heard.push(JSON.parse(part) as Message);
    for (const look of wake) look();
  });
  const hears = (is: (message: Message) => boolean, from = 0): Promise<Message> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = heard.slice(from).find(is);
        if (found === undefined) return;
        wake.delete(look);
        resolve(found);
      };
      void ended.then(() => reject(new Error('the browser has ended')));
      wake.add(look);
      look();
    });
  let last = 0;
  const tell = async (method: string, params: object, sessionId?: string): Promise<NonNullable<Message['result']>> => {
    const id = ++last;
    input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    const { result, error } = await hears((message) => message.id === id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  };
  const { targetId } = await tell('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await tell('Target.attachToTarget', { targetId, flatten: true });
  for (const domain of ['Page', 'Network', 'Log', 'Runtime']) await tell(`${domain}.enable`, {}, sessionId);

  const evaluate = async (expression: string): Promise<unknown> => {
    const { result, exceptionDetails } = await tell('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true }, sessionId);
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result?.value;
  };
  return {
    async open(url) {
      const from = heard.length;
      await tell('Page.navigate', { url }, sessionId);
      await hears(({ method }) => method === 'Page.loadEventFired', from);
    },
    evaluate,
    async until(expression) {
      // The limit only ends what hangs.
      const isTrue = await evaluate(`new Promise((done) => {
        setTimeout(done, ${LONGEST_WAIT_MS}, false);
        const look = () => ((${expression}) ? done(true) : requestAnimationFrame(look));
        look();
      })`);
      if (isTrue !== true) throw new Error(`never true: ${expression}`);
    },
    async emulate({ scheme = 'light', type = 'screen' }) {
      await tell('Emulation.setEmulatedMedia', { media: type, features: [{ name: 'prefers-color-scheme', value: scheme }] }, sessionId);
    },
    async picture(height) {
      const [width, whole] = (await evaluate('[innerWidth, document.documentElement.scrollHeight]')) as [number, number];
      const clip = { x: 0, y: 0, width, height: height ?? whole, scale: 1 };
      const { data = '' } = await tell('Page.captureScreenshot', { format: 'png', clip, captureBeyondViewport: true }, sessionId);
      return Buffer.from(data, 'base64');
    },
    async press(key, withControl = false) {
      const code = key.length === 1 ? `Key${key.toUpperCase()}` : key;
      const number = KEYS[key] ?? key.toUpperCase().charCodeAt(0);
      const event = {
        key,
        code,
        windowsVirtualKeyCode: number,
        modifiers: withControl ? 2 : 0,
        ...(key === 'Enter' ? { text: '\r' } : {}),
      };
      await tell('Input.dispatchKeyEvent', { type: 'keyDown', ...event }, sessionId);
      await tell('Input.dispatchKeyEvent', { type: 'keyUp', ...event }, sessionId);
    },
    async type(text) {
      await tell('Input.insertText', { text }, sessionId);
    },
    get requests() {
      return heard.flatMap(({ method, params }) => (method === 'Network.requestWillBeSent' ? [params?.request?.url ?? ''] : []));
    },
    get complaints() {
      return heard.flatMap(complaintOf);
    },
  };
}

const KEYS: Readonly<Record<string, number>> = { Tab: 9, Enter: 13, Escape: 27, ArrowUp: 38, ArrowDown: 40 };

function complaintOf({ method, params }: Message): string[] {
  if (method === 'Log.entryAdded') return [params?.entry?.text ?? ''];
  if (method === 'Runtime.exceptionThrown') return [params?.exceptionDetails?.text ?? method];
  if (method !== 'Runtime.consoleAPICalled' || !['error', 'warning', 'assert'].includes(params?.type ?? '')) return [];
  return [(params?.args ?? []).map(({ value, description }) => description ?? JSON.stringify(value)).join(' ')];
}
