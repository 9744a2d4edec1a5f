/** Names that sub-runs go by. */

/** Origin of a sub-run, its lane, and the word in its session key. Spec: http/sessions-routing.md §1, §6. */
export const SUBAGENT = "subagent";
/** Origin of the run that tells a session what a sub-run of it found. */
export const SUBAGENT_RESULT = "subagent-result";
/** Why a sub-run was stopped whose parent was stopped or reset; nobody is told about it. */
export const STOPPED_WITH_PARENT = "parent";
/** Why a sub-run was stopped by the tool `subagents`; who asked knows. */
export const STOPPED_BY_TOOL = "subagents";

export const isSubagentKey = (sessionKey: string) => /^agent:[^:]+:subagent:/.test(sessionKey);
