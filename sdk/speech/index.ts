/** Speech from text: `@svc/sdk/speech`. */
export * from "./contract.ts";
export * from "./service.ts";
