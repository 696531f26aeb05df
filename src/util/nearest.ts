/** Finds the known name that a misspelt word probably means. Pure. */

/** Longer words are not compared: the comparison is quadratic, and no name is this long. */
const MAX_WORD = 80;

/**
 * The candidate nearest to `word` by edit distance; swapped neighbours count once, case does not count.
 * Null when more than a third of the word would have to change.
 */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length === 0 || word.length > MAX_WORD) return null;
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    // The distance is at least the difference in length.
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `; did you mean X?`, or an empty text without a suggestion. */
export function didYouMean(suggestion: string | null): string {
  return suggestion === null ? '' : `; did you mean ${suggestion}?`;
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours each cost 1. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
