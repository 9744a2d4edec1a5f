/** Commands under the exec policy, on the gateway's machine or on a node: `@svc/kit/exec`. */
export { type BindableRun, type Binding, type BindingScope, bindingFault } from "./binding.ts";
export * from "./bound-files.ts";
export * from "./bounded-text.ts";
export { readContent } from "./content.ts";
export { entryFault } from "./entry.ts";
export * from "./find-program.ts";
export * from "./judge-run.ts";
export { shebangOf } from "./named-files.ts";
export type { ExecPlace } from "./place.ts";
export * from "./plan.ts";
export * from "./policy.ts";
export * from "./policy-file.ts";
export { meansProfiled, PROFILED } from "./profiles/index.ts";
export * from "./questions.ts";
export * from "./run-program.ts";
export { runnerOf, type Runner } from "./runners.ts";
export * from "./sandbox/index.ts";
export * from "./variables.ts";
