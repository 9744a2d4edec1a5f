/** Typed client of the gateway: `@svc/sdk/client`. */
export * from "./address.ts";
export * from "./client.ts";
export type { DeviceIdentity } from "./device-proof.ts";
