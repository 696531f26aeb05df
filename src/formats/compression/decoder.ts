/** Drives one zlib or zstd decoder chunk by chunk. The output of each chunk is read before the next goes in, so memory stays flat. */
import type { Transform } from 'node:stream';

/** Bytes per output chunk of a decoder. */
export const DECODED_CHUNK_BYTES = 64 * 1024;

/** A decoder of node:zlib. `bytesWritten` is the consumed input, which may be less than the given input at a stream's end. */
export type Decoder = Transform & { readonly bytesWritten: number };

/**
 * Gives `input` to the decoder and yields its output. Returns when the input is consumed or the compressed stream has ended; in the second
 * case `bytesWritten` is less than the given bytes. The stream is never ended here: the caller judges an unfinished stream, after its whole
 * output.
 * @throws the decoder's error for damaged data
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

/** Frees a decoder, finished or not. A late error has no receiver. */
export function release(decoder: Decoder): void {
  decoder.on('error', () => undefined);
  decoder.destroy();
}
