/** Commands that people write in chats: `@svc/sdk/commands`. */
export * from "./contract.ts";
export * from "./service.ts";
