/** Shows a page in Debian's Chromium without a window, controlled over two pipes (the DevTools protocol). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

export const BROWSER = 'chromium-headless-shell';

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

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly request?: { readonly url: string };
    readonly entry?: { readonly text: string };
    readonly exceptionDetails?: { readonly text: string };
  };
  readonly result?: { readonly targetId?: string; readonly sessionId?: string; readonly result?: { readonly value: unknown } };
  readonly error?: { readonly message: string };
}

/** @param width of the window in pixels */
export async function showPage(url: string, width: number): Promise<Shown> {
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
  const browser = spawn(BROWSER, words, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const ended = once(browser, 'exit');
  try {
    const [, , , input, output] = browser.stdio as unknown as [null, null, null, Writable, Readable];
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
    const hears = (is: (message: Message) => boolean): Promise<Message> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = heard.find(is);
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
    await tell('Page.navigate', { url }, sessionId);
    await hears(({ method }) => method === 'Page.loadEventFired');
    const evaluate = async (expression: string): Promise<unknown> =>
      (await tell('Runtime.evaluate', { expression, returnByValue: true }, sessionId)).result?.value;
    const text = String(await evaluate('document.body.innerText'));
    const widths = (await evaluate(
      '({ page: document.documentElement.scrollWidth, window: document.documentElement.clientWidth })',
    )) as Shown['widths'];
    return {
      text,
      widths,
      requests: heard.flatMap(({ method, params }) => (method === 'Network.requestWillBeSent' ? [params?.request?.url ?? ''] : [])),
      complaints: heard.flatMap(({ method, params }) =>
        method === 'Log.entryAdded'
          ? [params?.entry?.text ?? '']
          : method === 'Runtime.exceptionThrown' || method === 'Runtime.consoleAPICalled'
            ? [params?.exceptionDetails?.text ?? method]
            : [],
      ),
    };
  } finally {
    browser.kill('SIGKILL');
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
