/** Nodes and their commands: `@svc/sdk/nodes`. */
export * from "./contract.ts";
export * from "./service.ts";
