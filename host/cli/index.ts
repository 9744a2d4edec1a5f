/** Helpers of the built-in commands, for packages that add commands. Not a stable API: it changes with the host. */
export { allVerbs, type VerbSummary } from "./all-verbs.ts";
export { loadOwners } from "./config/owners.ts";
export { changeConfig, openStore, setConfig } from "./config/write.ts";
export { type RunFlags, runGateway } from "./gateway-run.ts";
export { EXIT, refuse, Unreachable, WrongUsage } from "./output.ts";
export { COMPANIONS } from "./package-json.ts";
export { type PluginsHere, pluginsHere } from "./planned-plugins.ts";
export { type Candidate, lacksOf, nextStep } from "./plugin-facts/explanation.ts";
export { type PlannedCode, plannedStart } from "./plugin-facts/planned-code.ts";
export { type SelectedPlugin, selectHere, type Wanted, withUse } from "./plugin-facts/selection.ts";
export { lastStarted } from "./target.ts";
export { RUN_OPTIONS } from "./verbs/gateway.ts";
