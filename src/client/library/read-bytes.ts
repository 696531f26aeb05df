/** Bytes of a stream, whatever kind of stream the platform has. */

/** The pieces of a stream; leaving early cancels it. */
export async function* bytesOf(source: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (source === null) return;
  // Not every browser can iterate over its streams.
  if (!('getReader' in source)) {
    yield* source;
    return;
  }
  const reader = source.getReader();
  try {
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) yield value as Uint8Array;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
