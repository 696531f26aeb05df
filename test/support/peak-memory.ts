/** Preloaded by a command: writes its peak memory in KiB to PEAK_FILE at its end. */
import { readFileSync, writeFileSync } from 'node:fs';

/** The peak of this program alone. `maxRSS` has also that of the process which started it, from before the exec. */
function peakKib(): string {
  const own = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return own ?? String(process.resourceUsage().maxRSS);
}

process.on('exit', () => writeFileSync(process.env['PEAK_FILE'] ?? '', peakKib()));
