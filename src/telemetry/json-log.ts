/** Log lines as JSON by pino, on standard error. */
import { writeSync } from 'node:fs';
import { pino } from 'pino';

const STANDARD_ERROR = 2;

/** How much a log may lag behind, characters and milliseconds, where it is not written at once. */
const BUFFER_CHARACTERS = 64 * 1024;
const FLUSH_EVERY_MS = 250;
/** The most log bytes that wait for a slow reader; further lines are dropped, so that a reader never stops the run. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;

interface JsonLog {
  readonly logger: pino.Logger;
  /** Writes a line that is JSON already, its end included, whatever the level: for those that are written thousands of times a second. */
  line(text: string): void;
  /** Writes what is left. */
  close(): void;
}

/** @param buffered lines are written some at a time: for a server, to whom a system call a line is too many. Else each at once */
export function openJsonLog(level: string, buffered: boolean): JsonLog {
  const destination = pino.destination({ fd: STANDARD_ERROR, sync: !buffered, maxLength: MOST_WAITING_BYTES });
  // A log line that cannot be written is lost. A full disk must not end the program because of its log.
  let isLost = false;
  destination.on('error', () => (isLost = true));
  destination.on('write', () => (isLost = false));
  // The destination's own buffer measures all that waits in it again with each line.
  let waiting = '';
  const pass = (): void => {
    if (waiting !== '') destination.write(waiting);
    waiting = '';
  };
  const write = (text: string): void => {
    waiting += text;
    if (!buffered || waiting.length >= BUFFER_CHARACTERS) pass();
  };
  const timer = buffered ? setInterval(pass, FLUSH_EVERY_MS) : null;
  timer?.unref();
  // The last lines explain a fatal error. They are written directly, and dropped on failure, because the destination would retry for ever.
  const rescue = (): void => {
    if (isLost) {
      destination.destroy();
      return;
    }
    try {
      writeSync(STANDARD_ERROR, waiting === '' ? '\n' : waiting);
      waiting = '';
      destination.flushSync();
    } catch {
      destination.destroy();
    }
  };
  if (buffered) process.on('uncaughtExceptionMonitor', rescue);
  return {
    logger: pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, { write }),
    line: write,
    close() {
      if (timer === null) return;
      clearInterval(timer);
      process.off('uncaughtExceptionMonitor', rescue);
      rescue();
    },
  };
}
