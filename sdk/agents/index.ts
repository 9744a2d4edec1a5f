/** Agents and their runs: `@svc/sdk/agents`. */
export * from "./contract.ts";
export * from "./files.ts";
export * from "./identities.ts";
export * from "./identity-files.ts";
export * from "./service.ts";
export type { PromptSkills } from "./hooks.ts";
