/** Sentences about the effect of a return value or a throw, shared by many hooks. */
export const never = "Ignored.";
export const recorded = "Recorded as an error of the plugin; the caller is unaffected.";
export const denies = "Counts as a denial.";
export const skipped = "Counts as no answer.";
export const kept = "The value stays unchanged.";
export const refuses = "The caller receives the error.";
