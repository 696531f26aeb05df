/** The value of a JSON text; `otherwise` for any other text. */
export function parseJson(text: string, otherwise?: unknown): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return otherwise;
  }
}
