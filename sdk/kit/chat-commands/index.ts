/** Chat commands handled by the gateway, in `chat.send` and in channels: `@svc/kit/chat-commands`. */
export * from "./commands.ts";
