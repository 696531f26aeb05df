/** Preloaded by a command: writes its peak memory in KiB to PEAK_FILE at its end. */
import { writeFileSync } from 'node:fs';

process.on('exit', () => writeFileSync(process.env['PEAK_FILE'] ?? '', String(process.resourceUsage().maxRSS)));
