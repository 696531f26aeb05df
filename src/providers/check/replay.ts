/** A recorded answer in place of the network: it goes the way of a real one, from the last byte on the wire to the judgement. */
import type { Wire } from '../../client/transport.ts';
import type { RecordedAnswer } from './answers-file.ts';

const CONTROLLER = { abort: () => undefined, pause: () => undefined, resume: () => undefined };

/** Every request gets this answer. Nothing is sent. */
export function replayWire({ status, headers, body }: RecordedAnswer['response']): Wire {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  return {
    dispatch: (_request, handler) => {
      handler.onRequestStart(CONTROLLER);
      handler.onResponseStart(CONTROLLER, status, headersOf(headers));
      if (text !== '') handler.onResponseData(CONTROLLER, new TextEncoder().encode(text));
      handler.onResponseEnd();
    },
    explain: ({ message }) => Promise.resolve({ code: 'network', detail: message }),
    destroy: () => Promise.resolve(),
  };
}

/** As undici gives them: lower case. The body is written anew, so that its length and coding are not those recorded. */
function headersOf(headers: RecordedAnswer['response']['headers']): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]): [string, string | string[]] => [name.toLowerCase(), Array.isArray(value) ? value : String(value)])
      .filter(([name]) => name !== 'content-encoding' && name !== 'content-length'),
  );
}
