/** Embedding: `createGateway` starts a gateway inside your own program. */
export { type AuthMode, type AuthSettings, StartupRefusal } from "./auth/settings.ts";
export { createGateway } from "./gateway.ts";
export { watchStrayErrors } from "./kernel/blame.ts";
export type { Gateway, GatewayOptions, StopOptions } from "./options.ts";
export type { Restarter } from "./restarts.ts";

/** Kinds of declaration, and what a plugin declares of each. */
export { declarePlugin, staleDeclaration } from "./carriers/declare.ts";
export {
  type AnyKind,
  covers,
  defineKind,
  type Kind,
  type KernelHooks,
  listed,
  type Problem,
  type SetupContext,
  type Shape,
  type Staged,
  unlisted,
} from "./kernel/kind.ts";
export { contributions } from "./kernel/kinds/contributions.ts";
export { methods } from "./kernel/kinds/methods.ts";
export { loadKinds } from "./kernel/load-kinds.ts";
