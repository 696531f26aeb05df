/** The log of the service. */

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** As pino writes them. */
export const LEVELS: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

export interface ServiceLog {
  /** `entry.event` names the event. No personal data. */
  write(level: LogLevel, entry: Readonly<Record<string, unknown>>): void;
  /** Writes a line that is JSON already, with its line end. */
  line(text: string): void;
  /** Whether lines of this level are written at all. */
  takes(level: LogLevel): boolean;
}
