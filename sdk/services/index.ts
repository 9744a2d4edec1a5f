/** Services and extension points that plugins share: `@svc/sdk/services`. */
export * from "./agents.ts";
export * from "./approvals.ts";
export * from "./attachments.ts";
export * from "./delivery.ts";
export * from "./devices.ts";
export * from "./host.ts";
export * from "./local-time.ts";
export * from "./messages.ts";
export * from "./models.ts";
export * from "./nodes.ts";
export * from "./provider-failure.ts";
export * from "./secrets.ts";
export * from "./sessions.ts";
export * from "./storage.ts";
export * from "./system-events.ts";
export * from "./tools.ts";
export * from "./webhooks.ts";
