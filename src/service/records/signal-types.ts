/** Types of buying signals, and the names that job definitions may use for them. Pure. */

export const SIGNAL_TYPES = ['funding', 'hiring', 'executive_move', 'technology_change'] as const;
export type SignalType = (typeof SIGNAL_TYPES)[number];

const OTHER_NAMES: Readonly<Record<string, SignalType>> = { exec_moves: 'executive_move', tech_changes: 'technology_change' };

/** Every accepted name. */
export const SIGNAL_NAMES: readonly string[] = [...SIGNAL_TYPES, ...Object.keys(OTHER_NAMES)];

/** The type with that name, or null. */
export function signalType(name: string): SignalType | null {
  return SIGNAL_TYPES.find((type) => type === name) ?? (Object.hasOwn(OTHER_NAMES, name) ? (OTHER_NAMES[name] ?? null) : null);
}
