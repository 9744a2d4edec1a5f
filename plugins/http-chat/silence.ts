/** `NO_REPLY`, by which an agent says that it says nothing. Pure. Spec: http/sessions-routing.md §10. */
const SILENT = "NO_REPLY";

/** What was said; empty for an agent that keeps silent. */
export function spokenText(text: string): string {
  return text.trim() === SILENT ? "" : text;
}

/** Text on its way out. */
export interface SpokenStream {
  /** What can be said now: nothing as long as it may become `NO_REPLY`. */
  take(delta: string): string;
  /** Something was said. */
  readonly hasSpoken: boolean;
}

export function createSpokenStream(): SpokenStream {
  let held: string | undefined = "";
  return {
    get hasSpoken() {
      return held === undefined;
    },
    take(delta) {
      if (held === undefined) return delta;
      held += delta;
      if (SILENT.startsWith(held.trim())) return "";
      const text = held;
      held = undefined;
      return text;
    },
  };
}
