/** The token with which an agent stays silent. Pure. Spec: http/sessions-routing.md §10. */

/** A reply that consists only of this token is not sent. */
export const SILENT_REPLY = "NO_REPLY";

/** The text of a reply; empty if the agent stays silent. */
export function spokenText(text: string): string {
  return text.trim() === SILENT_REPLY ? "" : text;
}

/**
 * Holds back the beginning of an answer while it may still become the silent token.
 * @returns the text to pass on after each chunk
 */
export function holdSilence(): (piece: string) => string {
  let held: string | undefined = "";
  return (piece) => {
    if (held === undefined) return piece;
    const text = held + piece;
    held = SILENT_REPLY.startsWith(text.trim()) ? text : undefined;
    return held === undefined ? text : "";
  };
}
