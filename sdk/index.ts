/** The public surface of `@svc/sdk`. A snapshot test holds it. */
export * from "./contract.ts";
export * from "./errors.ts";
export * from "./hook-catalogue.ts";
export * from "./hooks.ts";
export * from "./plugin.ts";
export * from "./principal.ts";
export * from "./schema.ts";
export * from "./service.ts";
export * from "./protocol/connect.ts";
export * from "./protocol/events.ts";
export * from "./protocol/frames.ts";
export * from "./contracts/agents.ts";
export * from "./contracts/chat.ts";
export * from "./contracts/config.ts";
export * from "./contracts/health.ts";
export * from "./contracts/models.ts";
export * from "./contracts/sessions.ts";
