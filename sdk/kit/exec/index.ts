/** Running commands by what people allowed: `@svc/kit/exec`. For whoever runs commands, on the gateway's machine or a node. */
export * from "./bounded-text.ts";
export * from "./find-program.ts";
export * from "./judge-run.ts";
export * from "./plan.ts";
export * from "./policy.ts";
export * from "./policy-file.ts";
export * from "./run-program.ts";
export * from "./variables.ts";
