import { constants, setPriority } from 'node:os';

/**
 * Lets a service on the same machine have the processor first: an import takes all of it for minutes. To be called before Node starts anew,
 * because threads that run already keep their priority.
 */
export function giveWay(command: string | undefined): void {
  if (command !== 'import') return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The system forbids it.
  }
}
