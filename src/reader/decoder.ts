/** One zlib or zstd decoder driven chunk by chunk: what goes in comes out before more goes in, so memory stays flat. */
import type { Transform } from 'node:stream';

/** Bytes a decoder puts out at a time. */
export const DECODED_CHUNK_BYTES = 64 * 1024;

/** A decoder of node:zlib; `bytesWritten` is what it has consumed, which at a stream's end may be less than it was given. */
export type Decoder = Transform & { readonly bytesWritten: number };

/**
 * Give `input` to the decoder and yield everything it makes of it.
 * Returns when the input is used up or the compressed stream has ended (then `bytesWritten` lags behind what was given).
 * The stream is never ended from here: an unfinished one is the caller's to judge, after all of its output was delivered.
 * Throws what the decoder throws on damaged data.
 */
export async function* decode(decoder: Decoder, input: Buffer): AsyncGenerator<Buffer, void, void> {
  let wake = Promise.withResolvers<void>();
  let done = false;
  let failure: unknown = null;
  const onReadable = (): void => wake.resolve();
  const onError = (error: unknown): void => {
    failure ??= error;
    done = true;
    wake.resolve();
  };
  decoder.on('readable', onReadable);
  decoder.on('error', onError);
  try {
    decoder.write(input, (error) => {
      if (error) onError(error);
      done = true;
      wake.resolve();
    });
    for (;;) {
      wake = Promise.withResolvers<void>();
      const settled = done;
      for (let output = read(decoder); output !== null; output = read(decoder)) yield output;
      if (failure !== null) throw failure;
      if (settled) return;
      if (!done) await wake.promise;
    }
  } finally {
    decoder.off('readable', onReadable);
    decoder.off('error', onError);
  }
}

function read(decoder: Decoder): Buffer | null {
  return decoder.read() as Buffer | null;
}

/** Free a decoder, finished or not; an error that comes late is nobody's. */
export function release(decoder: Decoder): void {
  decoder.on('error', () => undefined);
  decoder.destroy();
}
