/** Messages that mean "stop", for every surface on which people write: `@svc/kit/chat-commands`. */
export * from "./stop-phrases.ts";
