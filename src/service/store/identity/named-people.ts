/** The people and signals that an answer names, where its text alone does not show them: fields may be left out or renamed. Pure. */

export interface Named {
  /** Ids of people. */
  readonly people?: readonly string[];
  /** Keys of profiles. */
  readonly profiles?: readonly string[];
  readonly emails?: readonly string[];
  /** Ids of signals. They are erased with the people they are about. */
  readonly signals?: readonly string[];
}

/** The union over several parts of an answer. */
export function allNamed(parts: readonly Named[]): Named {
  const of = (field: keyof Named): string[] => [...new Set(parts.flatMap((part) => part[field] ?? []))];
  return { people: of('people'), profiles: of('profiles'), emails: of('emails'), signals: of('signals') };
}

/** Ids of the signals in a JSON text: those in lists named `signals`. */
export function signalsIn(json: string): string[] {
  if (!json.includes('"signals":[')) return [];
  const found = new Set<string>();
  const left: unknown[] = [JSON.parse(json)];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== 'object' || one === null) continue;
    const { signals } = one as { readonly signals?: unknown };
    if (Array.isArray(signals)) for (const id of idsOf(signals)) found.add(id);
    left.push(...Object.values(one));
  }
  return [...found];
}

/** The ids of records. */
export function idsOf(records: unknown): string[] {
  if (!Array.isArray(records)) return [];
  return (records as readonly unknown[]).flatMap((record) => {
    const { id } = (record ?? {}) as { readonly id?: unknown };
    return typeof id === 'string' ? [id] : [];
  });
}
