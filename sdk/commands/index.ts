/** Commands that people write in chats: `@svc/sdk/commands`. */
export * from "./service.ts";
