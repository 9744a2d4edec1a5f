/** Commands under the exec policy, on the gateway's machine or on a node: `@svc/kit/exec`. */
export * from "./bound-files.ts";
export * from "./bounded-text.ts";
export * from "./find-program.ts";
export * from "./judge-run.ts";
export * from "./plan.ts";
export * from "./policy.ts";
export * from "./policy-file.ts";
export * from "./questions.ts";
export * from "./run-program.ts";
export * from "./variables.ts";
