/** Texts that people wrote and did not send, by conversation. They live as long as the tab. */
const PREFIX = "svc-panel.draft.";

export function readDraft(key: string): string {
  return sessionStorage.getItem(PREFIX + key) ?? "";
}

export function keepDraft(key: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(PREFIX + key);
    else sessionStorage.setItem(PREFIX + key, text);
  } catch {
    // The storage of the tab is full: the text stays in the field, but does not survive a reload.
  }
}
