/** Skills, folders with instructions for agents: `@svc/sdk/skills`. */
export * from "./contract.ts";
export * from "./service.ts";
