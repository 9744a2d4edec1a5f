/** Typed client of the gateway: `@svc/sdk/client`. */
export * from "./client.ts";
export type { DeviceIdentity } from "./device-proof.ts";
