/** Embedding: `createGateway` starts a gateway inside your own program. */
export { type AuthMode, type AuthSettings, StartupRefusal } from "./auth/mode.ts";
export { createGateway, type Gateway, type GatewayOptions } from "./gateway.ts";
export { watchStrayErrors } from "./kernel/blame.ts";
