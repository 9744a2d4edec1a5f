/** Embedding: `createGateway` starts a gateway inside your own program. */
export { type AuthMode, type AuthSettings, StartupRefusal } from "./auth/mode.ts";
export { createGateway } from "./gateway.ts";
export type { Gateway, GatewayOptions, StopOptions } from "./options.ts";
export type { Restarter } from "./restarts.ts";
export { defineKind, type Kind, type KernelHooks, type SetupContext, type Shape, type Staged } from "./kernel/kind.ts";
export { watchStrayErrors } from "./kernel/blame.ts";
