/** What providers of `Storage` share. */
export { type Space } from "./file-space.ts";
export * from "./keeper.ts";
export * from "./ownership.ts";
export * from "./serve.ts";
