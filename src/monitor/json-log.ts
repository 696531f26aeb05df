/** Log lines as JSON by pino, on standard error. */
import { pino } from 'pino';

/** How much a log may lag behind, bytes and milliseconds, where it is not written at once. */
const BUFFER_BYTES = 12 * 1024;
const FLUSH_EVERY_MS = 250;
/** Lines that nobody takes are dropped beyond this: whoever reads the log must not stop who writes it. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;

export interface JsonLog {
  readonly logger: pino.Logger;
  /** Writes a line that is JSON already, its end included, whatever the level: for those that are written thousands of times a second. */
  line(text: string): void;
  /** Writes what is left. */
  close(): void;
}

/** @param buffered lines are written some at a time: for a server, to whom a system call a line is too many. Else each at once */
export function openJsonLog(level: string, buffered: boolean): JsonLog {
  const destination = buffered ? pino.destination({ fd: 2, sync: false, minLength: BUFFER_BYTES, maxLength: MOST_WAITING_BYTES }) : pino.destination({ fd: 2, sync: true });
  const timer = buffered ? setInterval(() => destination.flush(), FLUSH_EVERY_MS) : null;
  timer?.unref();
  return {
    logger: pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination),
    line: (text) => void destination.write(text),
    close() {
      if (timer === null) return;
      clearInterval(timer);
      destination.flushSync();
    },
  };
}
