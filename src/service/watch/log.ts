/** Where the service logs to. Types only. */

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface ServiceLog {
  /** `entry.event` says what it is. No personal data. */
  write(level: LogLevel, entry: Readonly<Record<string, unknown>>): void;
  /** Whether lines of this level are written at all. */
  takes(level: LogLevel): boolean;
}
