/** `NO_REPLY`: an agent's word for saying nothing, which is no text for a caller. Pure. Spec: http/sessions-routing.md §10. */
const NO_REPLY = "NO_REPLY";

/** What was said; empty for an agent that keeps silent. */
export function spokenText(text: string): string {
  return text.trim() === NO_REPLY ? "" : text;
}

/** Holds the beginning of an answer back as long as it may become that word. @returns what can be told after each piece */
export function holdSilence(): (piece: string) => string {
  let held: string | undefined = "";
  return (piece) => {
    if (held === undefined) return piece;
    const text = held + piece;
    held = NO_REPLY.startsWith(text.trim()) ? text : undefined;
    return held === undefined ? text : "";
  };
}
