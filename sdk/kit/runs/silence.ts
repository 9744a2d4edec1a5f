/** The word by which an agent says that it says nothing. Pure. Spec: http/sessions-routing.md §10. */

/** A reply that is only this is no reply. */
export const SILENT_REPLY = "NO_REPLY";

/** What was said; empty for an agent that keeps silent. */
export function spokenText(text: string): string {
  return text.trim() === SILENT_REPLY ? "" : text;
}

/** Holds the beginning of an answer back as long as it may become that word. @returns what can be told after each piece */
export function holdSilence(): (piece: string) => string {
  let held: string | undefined = "";
  return (piece) => {
    if (held === undefined) return piece;
    const text = held + piece;
    held = SILENT_REPLY.startsWith(text.trim()) ? text : undefined;
    return held === undefined ? text : "";
  };
}
