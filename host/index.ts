/** Embedding: `createGateway` starts a gateway inside your own program. */
export { type AuthMode, type AuthSettings, StartupRefusal } from "./auth/settings.ts";
export { createGateway } from "./gateway.ts";
export { watchStrayErrors } from "./kernel/current-owner.ts";
export type { Gateway, GatewayOptions, StopOptions } from "./options.ts";
export type { Restarter } from "./restarts.ts";

/** Kinds of declaration, and the declarations of a plugin. */
export { declarePlugin, staleDeclaration } from "./carriers/declare.ts";
export {
  type AnyKind,
  defineKind,
  type Kind,
  type KernelHooks,
  type Problem,
  type SetupContext,
  type Shape,
  type Staged,
} from "./kernel/kind.ts";
export { covers, listed, unlisted } from "./kernel/listing.ts";
export { contributions } from "./kernel/kinds/contributions.ts";
export { methods } from "./kernel/kinds/methods.ts";
export { loadKinds } from "./kernel/load-kinds.ts";
