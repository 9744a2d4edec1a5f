/** Tools for chat channels: `@svc/kit/channels`. */
export * from "./account-config.ts";
export * from "./address.ts";
export * from "./bounded.ts";
export * from "./emoji.ts";
export * from "./media-kind.ts";
export * from "./refused-command.ts";
export * from "./repeat.ts";
export { MAX_PIECES, split } from "./split.ts";
export * from "./tables.ts";
export * from "./unescaped.ts";
export * from "./unlinked.ts";
