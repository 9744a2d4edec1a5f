/** The kit for plugin authors: `@svc/sdk/testing`. */
export * from "./fake-clock.ts";
export * from "./fake-model-server.ts";
export * from "./hook-probe.ts";
export * from "./leak-check.ts";
export * from "./test-gateway.ts";
