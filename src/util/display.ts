/** Numbers and times in a form for people. Pure. */

export function count(n: number): string {
  return n.toLocaleString('en-US');
}

/** A duration such as `42 s`, `3 min 5 s` or `2 h 10 min`. */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `until 14:03:22 UTC (in 3 min 5 s)`; the date is shown unless it is today's. @param leftMs milliseconds from `nowMs`, wall clock */
export function formatUntil(leftMs: number, nowMs: number): string {
  if (leftMs <= 0) return 'about to end';
  return `until ${formatClock(nowMs + leftMs, nowMs)} (in ${duration(leftMs)})`;
}

/** `14:03:22 UTC`, or `2026-11-24 00:00:00 UTC` when the day differs from that of `nowMs`. */
export function formatClock(atMs: number, nowMs: number): string {
  const [day, time] = [0, 1].map((part) => new Date(atMs).toISOString().slice(0, 19).split('T')[part]) as [string, string];
  return day === new Date(nowMs).toISOString().slice(0, 10) ? `${time} UTC` : `${day} ${time} UTC`;
}

/** Replaces control characters, so that data of a file or a service cannot control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd');
}

/** `a, b and c`. */
export function wordList(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
