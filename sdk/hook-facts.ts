/** Sentences that many hooks share about what a return or a throw does. */
export const never = "Nothing.";
export const recorded = "Recorded against the plugin; nobody notices.";
export const denies = "Denies.";
export const skipped = "Counts as no answer.";
export const kept = "The value stays as it was.";
export const refuses = "Refuses: whoever emitted it gets the error.";
