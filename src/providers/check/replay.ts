/** A recorded answer in place of the network: it goes the way of a real one, from the last byte on the wire to the judgement. */
import { Exchange } from '../../client/exchange.ts';
import type { OpenSender } from '../client/call-watch.ts';
import type { RecordedAnswer } from './answers-file.ts';

const OWNER = { mayHold: () => true, finished: () => undefined };
const CONTROLLER = { aborted: false, paused: false, reason: null, abort: () => undefined, pause: () => undefined, resume: () => undefined };

/** Every request gets this answer. Nothing is sent. @param maxBytes of its body */
export function replaySender({ status, headers, body }: RecordedAnswer['response'], maxBytes: number): OpenSender {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  return () => ({
    send: () =>
      new Promise((resolve, reject) => {
        const exchange = new Exchange(OWNER, maxBytes, resolve, reject);
        exchange.onRequestStart(CONTROLLER);
        exchange.onResponseStart(CONTROLLER, status, headersOf(headers));
        if (text !== '') exchange.onResponseData(CONTROLLER, Buffer.from(text));
        exchange.onResponseEnd();
      }),
    close: () => Promise.resolve(),
    destroy: () => Promise.resolve(),
  });
}

/** As undici gives them: lower case. The body is written anew, so that its length and coding are not those recorded. */
function headersOf(headers: RecordedAnswer['response']['headers']): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]): [string, string | string[]] => [name.toLowerCase(), Array.isArray(value) ? value : String(value)])
      .filter(([name]) => name !== 'content-encoding' && name !== 'content-length'),
  );
}
