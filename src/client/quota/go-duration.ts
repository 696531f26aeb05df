/** Durations as Go writes them (`time.Duration.String`), which some services send in the place of a number: `6m0s`, `250ms`. Pure. */

/** Longer than any duration; what is longer is not looked at. */
const MAX_LENGTH = 40;

const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/**
 * Milliseconds, rounded up; null when the text is no duration. Each number has a unit, and nothing stands between them.
 * It reads each character once: no header, however odd, can slow it down.
 */
export function goDurationMs(text: string): number | null {
  if (text === '' || text.length > MAX_LENGTH) return null;
  let ms = 0;
  let at = 0;
  while (at < text.length) {
    const numberEnd = endOf(text, at, isOfNumber);
    const unitEnd = endOf(text, numberEnd, (char) => !isOfNumber(char));
    const number = text.slice(at, numberEnd);
    const unit = UNITS_MS.get(text.slice(numberEnd, unitEnd));
    // `.5s` and `5.s` are durations to Go as well.
    if (unit === undefined || number.split('.').length > 2 || number === '.' || number === '') return null;
    ms += Number(number) * unit;
    at = unitEnd;
  }
  // Floating-point sums may be a hair too large.
  return Math.max(0, Math.ceil(ms - 1e-6));
}

function endOf(text: string, from: number, belongs: (char: string) => boolean): number {
  let at = from;
  while (at < text.length && belongs(text.charAt(at))) at++;
  return at;
}

function isOfNumber(char: string): boolean {
  return (char >= '0' && char <= '9') || char === '.';
}
