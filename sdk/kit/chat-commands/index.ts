/** Messages that the gateway answers itself, in `chat.send` and in channels: `@svc/kit/chat-commands`. */
export * from "./commands.ts";
