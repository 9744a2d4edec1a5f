/**
 * The plugin API: `@svc/sdk`. A snapshot test guards it. Everything of a namespace is exported by `@svc/sdk/<domain>`.
 */
export * from "./contract.ts";
export * from "./deprecation.ts";
export * from "./gateway-error.ts";
export * from "./hook-catalogue.ts";
export * from "./hooks.ts";
export type {
  Admission,
  AuthAttempt,
  ConnectionInfo,
  DeviceToken,
  Identity,
  PairingRequest,
  PublishedEvent,
  RpcCall,
} from "./host-hooks.ts";
export * from "./lazy.ts";
export * from "./origin.ts";
export * from "./plugin.ts";
export * from "./principal.ts";
export * from "./schema.ts";
export * from "./service.ts";
export * from "./setup.ts";
export * from "./stray.ts";
export * from "./time.ts";
export * from "./json-depth.ts";
export * from "./turns.ts";
