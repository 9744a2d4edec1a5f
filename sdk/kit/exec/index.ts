/** Commands under the exec policy, on the gateway's machine or on a node: `@svc/kit/exec`. */
export { type BindableRun, type Binding, type BindingScope, bindingFault, entriesThatHold } from "./binding.ts";
export * from "./bound-files.ts";
export * from "./bounded-text.ts";
export { readContent } from "./content.ts";
export * from "./find-program.ts";
export * from "./judge-run.ts";
export { shebangOf } from "./named-files.ts";
export * from "./plan.ts";
export * from "./policy.ts";
export * from "./policy-file.ts";
export * from "./questions.ts";
export * from "./run-program.ts";
export * from "./variables.ts";
